// The six ways in which encoding/json refuses a value, each with the type of its error.
package jsonerrors

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
)

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

type failingKey struct{ name string }

func (failingKey) MarshalText() ([]byte, error) { return nil, errors.New("no") }

type knot struct{ Next *knot }

func TestErrors(t *testing.T) {
	circle := &knot{}
	circle.Next = circle
	isValue := func(err error) bool { var want *json.UnsupportedValueError; return errors.As(err, &want) }
	isType := func(err error) bool { var want *json.UnsupportedTypeError; return errors.As(err, &want) }
	isMarshaler := func(err error) bool { var want *json.MarshalerError; return errors.As(err, &want) }
	isPlain := func(err error) bool { return !isValue(err) && !isType(err) && !isMarshaler(err) }
	for _, one := range []struct {
		name  string
		value any
		is    func(error) bool
	}{
		{"not a number", math.NaN(), isValue},
		{"a circle", circle, isValue},
		{"a marshaler that fails", failing{}, isMarshaler},
		{"a key of another type", map[failing]int{{}: 1}, isType},
		{"a key's marshaler that fails", map[failingKey]int{{"a"}: 1}, isPlain},
		{"a number that is none", json.Number("1x"), isPlain},
	} {
		_, err := json.Marshal(one.value)
		if err == nil || !one.is(err) {
			t.Errorf("%s: %T %v", one.name, err, err)
			continue
		}
		t.Logf("%-30s %T: %v", one.name, err, err)
	}
}
