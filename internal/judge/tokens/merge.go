package tokens

import "math"

// merger counts the tokens of pieces, one after another: it keeps its memory between them.
type merger struct {
	ranks map[string]uint32
	parts []part
	queue []uint64
}

// part begins at its own index in the piece. Parts are a list; what was merged away has rank none.
type part struct {
	prev, next int32
	rank       uint32 // of the token that it and the next part make together
}

const none = math.MaxUint32

// count merges the two neighbours that make the token of the lowest rank, the leftmost of equals, until
// no two make one. A queue finds them, so that a piece of n bytes takes O(n log n).
func (m *merger) count(piece string) int64 {
	n := int32(len(piece))
	m.parts, m.queue = m.parts[:0], m.queue[:0]
	for i := range n {
		m.parts = append(m.parts, part{prev: i - 1, next: i + 1, rank: none})
	}
	for i := range n - 1 {
		m.offer(piece, i)
	}
	left := int64(n)
	for len(m.queue) > 0 {
		rank, i := m.take()
		first := &m.parts[i]
		if first.rank != rank {
			continue // its neighbour changed since
		}
		left--
		second := &m.parts[first.next]
		second.rank = none
		first.next = second.next
		if first.next < n {
			m.parts[first.next].prev = i
		}
		m.offer(piece, i)
		if first.prev >= 0 {
			m.offer(piece, first.prev)
		}
	}
	return left
}

// offer looks up what part i and the next one make together, and queues it.
func (m *merger) offer(piece string, i int32) {
	p := &m.parts[i]
	p.rank = none
	if int(p.next) == len(piece) {
		return
	}
	if rank, ok := m.ranks[piece[i:m.parts[p.next].next]]; ok {
		p.rank = rank
		m.push(uint64(rank)<<32 | uint64(uint32(i)))
	}
}

// push and take keep queue a binary heap, least first.
func (m *merger) push(c uint64) {
	m.queue = append(m.queue, c)
	for i := len(m.queue) - 1; i > 0; {
		parent := (i - 1) / 2
		if m.queue[parent] <= m.queue[i] {
			return
		}
		m.queue[parent], m.queue[i] = m.queue[i], m.queue[parent]
		i = parent
	}
}

func (m *merger) take() (rank uint32, at int32) {
	least := m.queue[0]
	last := len(m.queue) - 1
	m.queue[0] = m.queue[last]
	m.queue = m.queue[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if right := child + 1; right < last && m.queue[right] < m.queue[child] {
			child = right
		}
		if m.queue[i] <= m.queue[child] {
			break
		}
		m.queue[i], m.queue[child] = m.queue[child], m.queue[i]
		i = child
	}
	return uint32(least >> 32), int32(uint32(least))
}
