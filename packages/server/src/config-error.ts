/** A setting that cannot be meant: the message names the variable and says what it takes. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
