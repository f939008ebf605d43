import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { readSecretsKeys } from '@svc/core/operate'
import { ConfigError, type Read } from './variables.ts'

/** The keys that encrypt the secrets of the database. */
export interface SecretsSettings {
  /** The first key encrypts, and all keys decrypt. Without a key, secrets are stored as plain text. */
  secrets_keys: readonly string[]
  /** The file of the keys if every user of the machine can read it; null otherwise. */
  open_secrets_key_file: string | null
}

const KEY = 'SVC_SECRETS_KEY'
const FILE = 'SVC_SECRETS_KEY_FILE'

/** The maximum size of the file; sixteen keys take about 1 KB. */
const FILE_BYTES_MAX = 16 * 1024

/** The permissions of users other than the owner and the group. */
const OTHERS = 0o007

/**
 * Reads the keys from the variable, separated by commas, or from the file, one key a line.
 * @throws ConfigError that names the variable and never shows a value.
 */
export function readSecretsSettings(read: Read): SecretsSettings {
  const [text, file] = [read(KEY), read(FILE)]
  if (text !== undefined && file !== undefined) {
    throw new ConfigError(`${KEY} and ${FILE} are both set: set one of them`)
  }
  if (file !== undefined) return fromFile(resolve(file))
  return {
    secrets_keys: text === undefined ? [] : keysOf(KEY, text),
    open_secrets_key_file: null,
  }
}

function fromFile(path: string): SecretsSettings {
  try {
    const { size, mode } = statSync(path)
    if (size > FILE_BYTES_MAX) throw new ConfigError(`${FILE}: the file is not a list of keys`)
    const isOpen = process.platform !== 'win32' && (mode & OTHERS) !== 0
    return {
      secrets_keys: keysOf(FILE, readFileSync(path, 'utf8')),
      open_secrets_key_file: isOpen ? path : null,
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code = 'unreadable' } = error as NodeJS.ErrnoException
    throw new ConfigError(`${FILE}: the file cannot be read (${code})`)
  }
}

function keysOf(name: string, text: string): string[] {
  const keys = text.split(/[,\n]/).flatMap((part) => part.trim() || [])
  if (keys.length === 0) throw new ConfigError(`${name} holds no key`)
  try {
    readSecretsKeys(keys)
    return keys
  } catch (error) {
    throw new ConfigError(`${name}: ${(error as Error).message}`)
  }
}
