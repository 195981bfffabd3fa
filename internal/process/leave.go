package process

// Leave reaps the leader, which must have exited, and leaves alone what it started: for whoever stands
// before a command and must not change what it does. It is called once, in place of End.
func (t *Tree) Leave() ExitFacts {
	<-t.exited
	return t.reap()
}
