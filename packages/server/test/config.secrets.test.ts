import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../src/settings/config.ts'
import { warnOfSettings } from '../src/settings/warnings.ts'

const [FIRST, SECOND] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('hex')]
const folder = mkdtempSync(join(tmpdir(), 'svc-keys-'))
const file = join(folder, 'secrets.key')
afterAll(() => rmSync(folder, { recursive: true }))

function written(text: string, mode = 0o600): { SVC_SECRETS_KEY_FILE: string } {
  writeFileSync(file, text)
  chmodSync(file, mode)
  return { SVC_SECRETS_KEY_FILE: file }
}

describe('the keys of secrets', () => {
  it('are empty by default', () => {
    expect(readConfig({})).toMatchObject({ secrets_keys: [], open_secrets_key_file: null })
  })

  it.each([
    ['the variable', () => ({ SVC_SECRETS_KEY: ` ${FIRST} , ${SECOND}` })],
    ['a file', () => written(`${FIRST}\n${SECOND}\n`)],
    ['a file with commas and Windows lines', () => written(`${FIRST},\r\n\r\n${SECOND}\r\n`)],
  ])('come from %s, in their order', (_, env) => {
    expect(readConfig(env()).secrets_keys).toEqual([FIRST, SECOND])
  })

  it.each([
    ['SVC_SECRETS_KEY', () => ({ SVC_SECRETS_KEY: `${FIRST},${SECOND.slice(2)}` })],
    ['SVC_SECRETS_KEY holds no key', () => ({ SVC_SECRETS_KEY: ' , ' })],
    ['SVC_SECRETS_KEY_FILE', () => written(`${FIRST}\n${SECOND}x`)],
    ['SVC_SECRETS_KEY_FILE holds no key', () => written('\n')],
    ['SVC_SECRETS_KEY_FILE: the file is not a list of keys', () => written(FIRST.repeat(1_000))],
    [
      'SVC_SECRETS_KEY_FILE: the file cannot be read (ENOENT)',
      () => ({ SVC_SECRETS_KEY_FILE: join(folder, 'none') }),
    ],
    [
      'SVC_SECRETS_KEY_FILE: the file cannot be read (EISDIR)',
      () => ({ SVC_SECRETS_KEY_FILE: folder }),
    ],
    ['both set', () => ({ ...written(FIRST), SVC_SECRETS_KEY: FIRST })],
  ])('cause an error with only the name of the setting: %s', (text, env) => {
    const values = env()
    const read = () => readConfig(values)
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(text)
    for (const value of [FIRST, SECOND, SECOND.slice(2, 20)]) expect(read).not.toThrow(value)
  })

  it.each([
    [0o600, 0],
    [0o440, 0],
    [0o644, 1],
  ])('cause a warning by the mode of their file: %o', (mode, count) => {
    const warnings: [object, string][] = []
    const config = { ...readConfig(written(FIRST, mode)), providers: [], listen_backlog: 1 }
    const log = { warn: (about: object, text: string) => void warnings.push([about, text]) }
    warnOfSettings(log, config, { dev: false, somaxconn: null })
    const about = warnings.filter(([, text]) => text.includes('SVC_SECRETS_KEY_FILE'))
    expect(about).toHaveLength(count)
    if (count > 0) expect(about[0]?.[0]).toEqual({ file })
    expect(JSON.stringify(warnings)).not.toContain(FIRST)
  })
})
