// Go in a Python process: many goroutines that are preempted by signals, a garbage collector, and a fault that Go recovers from.
package main

import "C"

import (
	"runtime"
	"sync"
)

// Deep recursion on a stack that begins small and has no guard page.
func sum(n int64) int64 {
	var room [64]int64
	room[n%64] = n
	if n == 0 {
		return 0
	}
	return room[n%64] + sum(n-1)
}

//export Busy
func Busy(rounds int64) int64 {
	var done sync.WaitGroup
	totals := make([]int64, 16)
	for index := range totals {
		done.Add(1)
		go func() {
			defer done.Done()
			for round := int64(0); round < rounds; round++ {
				garbage := make([]int64, 512)
				garbage[round%512] = sum(round % 200)
				totals[index] += garbage[round%512]
				if round%64 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	done.Wait()
	runtime.GC()
	total := int64(0)
	for _, one := range totals {
		total += one
	}
	return total
}

//export Faults
func Faults() (result int64) {
	defer func() {
		if recover() != nil {
			result = 1
		}
	}()
	var nowhere *int64
	return *nowhere
}

func main() {}
