package sampling

// worst is a binary heap whose root is the entry that comes last in hash order: the one to give up
// when a better one arrives. container/heap would box every entry that is pushed.
type worst []entry

func (w worst) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if compare(&w[i], &w[parent]) <= 0 {
			return
		}
		w[i], w[parent] = w[parent], w[i]
		i = parent
	}
}

func (w worst) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(w) {
			return
		}
		if right := child + 1; right < len(w) && compare(&w[right], &w[child]) > 0 {
			child = right
		}
		if compare(&w[child], &w[i]) <= 0 {
			return
		}
		w[i], w[child] = w[child], w[i]
		i = child
	}
}
