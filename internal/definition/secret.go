package definition

// secretVariables are what a secret command gets of the environment: where its user is at home and
// where the well-known vaults keep their own settings. Nothing else is inherited.
var secretVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS",
	"GNUPGHOME", "PASSWORD_STORE_DIR", "VAULT_ADDR", "VAULT_TOKEN", "VAULT_NAMESPACE", "VAULT_CACERT", "OP_SERVICE_ACCOUNT_TOKEN", "OP_CONNECT_HOST", "OP_CONNECT_TOKEN",
	"AWS_PROFILE", "AWS_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CONFIG_DIR",
	"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE",
}

// SecretEnv is the environment of a program that a definition names to print a secret.
func SecretEnv(lookup func(string) (string, bool)) []string {
	var env []string
	if lookup == nil {
		return env
	}
	for _, name := range secretVariables {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
