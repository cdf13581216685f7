import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// pathFor returns the path of a file below the top directory in the layout digest:2/2:
// pathFor("abcdef") is "be/f5/abcdef". It fails if the layout does not accept the name.
func pathFor(name string) (string, error) {
	n := len(name)
	if n < 1 || n > 255 || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("layout digest:2/2 does not accept %q", name)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	return strings.Join([]string{digest[:2], digest[2:4], name}, "/"), nil
}
