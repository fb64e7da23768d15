// Package calls does something so often as the command line says, with a logger whose level is INFO.
package calls

import (
	"io"
	"log/slog"
	"os"
	"strconv"
)

var User = map[string]any{"name": "someone", "groups": []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}}

// Main calls log with a number for each time.
func Main(log func(logger *slog.Logger, number int)) {
	count := 5_000_000
	if len(os.Args) > 1 {
		given, err := strconv.Atoi(os.Args[1])
		if err != nil {
			println("error: how many calls? " + err.Error() + "\nhint: a number, as in " + os.Args[0] + " 1000000")
			os.Exit(2)
		}
		count = given
	}
	logger := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo}))
	for number := 0; number < count; number++ {
		log(logger, number)
	}
}
