// Fields in a map: it is made for each call, and the logger finds afterwards that the level is off.
package main

import (
	"log/slog"

	"logger/loggers/calls"
)

func main() {
	calls.Main(func(logger *slog.Logger, number int) {
		logger.Debug("request", "fields", map[string]any{"number": number, "user": calls.User})
	})
}
