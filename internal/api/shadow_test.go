package api

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestDocumentHoldsEveryField: a field that is named like one of an embedded struct hides it from
// the document and not from the JSON.
func TestDocumentHoldsEveryField(t *testing.T) {
	o, _ := parseDocument(t)
	for name, typ := range map[string]reflect.Type{
		"RunView": reflect.TypeFor[RunView](), "RunRow": reflect.TypeFor[RunRow](), "Graded": reflect.TypeFor[Graded](),
		"JudgeView": reflect.TypeFor[JudgeView](), "SetChange": reflect.TypeFor[SetChange](),
	} {
		var schema struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(o.Components.Schemas[name], &schema); err != nil {
			t.Fatal(name, err)
		}
		full := reflect.New(typ).Interface()
		raw, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		var have map[string]json.RawMessage
		if err := json.Unmarshal(raw, &have); err != nil {
			t.Fatal(err)
		}
		for key := range have {
			if _, ok := schema.Properties[key]; !ok {
				t.Errorf("%s: the document lacks %s", name, key)
			}
		}
	}
}
