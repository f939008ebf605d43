import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { leafCommands } from './commands-in.ts'
import { type DevServer, startDevServer } from './dev-server.ts'
import { newFolder, svc } from './svc.ts'

/** Long runs, which print one document a line. */
const LASTING = ['dev', 'serve', 'top', 'messages tail', 'webhooks listen']

/** Commands that can write a file to stdout. */
const FILES = ['export', 'ledger export', 'contacts export']

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const LEAVES = leafCommands()
  .map((found) => [found.names.join(' '), found] as const)
  .filter(([name]) => !LASTING.includes(name) && !FILES.includes(name))

const folder = newFolder()
let dev: DevServer

beforeAll(async () => {
  dev = await startDevServer({ XDG_CONFIG_HOME: folder.path })
  writeFileSync(join(folder.path, 'contacts.csv'), 'name,phone\nAsha,+255711000001\n')
})

afterAll(async () => {
  await dev.close()
  folder.remove()
})

/** Arguments with which a command succeeds, where the generated ones do not suffice. */
const ARGUMENTS: Record<string, string[]> = {
  send: ['--to', '+15005550006', '--text', 'Hello'],
  init: ['--yes', '--config', join(folder.path, 'svc.config.json')],
  segments: ['Hello'],
  completion: ['bash'],
  migrate: ['--status'],
  'webhooks verify': [
    '--secret',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    '--signature',
    'x',
    '--body',
    '{}',
  ],
  'verify start': ['+15005550006'],
  'profiles add': ['a', '--url', 'http://127.0.0.1:9', '--key', 'svc_x'],
  'profiles use': ['a'],
  'messages estimate': ['--to', '+15005550006', '--text', 'Hello'],
  'contacts import': [join(folder.path, 'contacts.csv')],
  'keys create': ['--name', 'x'],
  'credits grant': ['1'],
  'credits freeze': ['--reason', 'x', '--yes'],
}

/** Commands that must succeed, so that the test covers their JSON output. */
const SUCCEED = [
  ...Object.keys(ARGUMENTS).filter((name) => name !== 'webhooks verify'),
  'config show',
  'config check',
  'profiles list',
  'messages list',
  'messages received',
  'verify list',
  'verify stats',
  'contacts list',
  'webhooks list',
  'workspaces list',
  'keys list',
  'credits show',
  'credits history',
  'credits unfreeze',
  'billing purchases',
  'providers status',
  'ledger verify',
]

describe('--json', () => {
  test.each(LEAVES)('svc %s prints one document, or one error document', async (name, found) => {
    const { names, command } = found
    const needed = command.registeredArguments.filter(({ required }) => required).map(() => ID)
    const mandatory = command.options.filter(({ mandatory }) => mandatory)
    const more = [...needed, ...mandatory.flatMap(({ long }) => [long ?? '', 'x'])]
    const yes = command.options.some(({ long }) => long === '--yes') ? ['--yes'] : []
    const argv = [...names, ...(ARGUMENTS[name] ?? [...more, ...yes]), '--json']
    const { code, stdout, stderr } = await svc(argv, dev.here)
    if (SUCCEED.includes(name)) expect({ name, code, stderr }).toMatchObject({ code: 0 })
    if (stdout !== '' || code === 0) {
      expect(stdout.endsWith('\n')).toBe(true)
      expect(stdout.trimEnd()).not.toContain('\n')
      expect(() => JSON.parse(stdout), stdout).not.toThrow()
    }
    if (code === 0) return expect(stderr).toBe('')
    expect(JSON.parse(stderr)).toEqual({ error: expect.any(String), message: expect.any(String) })
  })
})
