// Fields as pairs: the logger looks at its level before it looks at them.
package main

import (
	"log/slog"

	"logger/loggers/calls"
)

func main() {
	calls.Main(func(logger *slog.Logger, number int) {
		logger.Debug("request", "number", number, "user", calls.User)
	})
}
