// The same pairs behind a question: nothing is made for a level that is off.
package main

import (
	"context"
	"log/slog"

	"logger/loggers/calls"
)

func main() {
	background := context.Background()
	calls.Main(func(logger *slog.Logger, number int) {
		if logger.Enabled(background, slog.LevelDebug) {
			logger.Debug("request", "number", number, "user", calls.User)
		}
	})
}
