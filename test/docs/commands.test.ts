import { describe, expect, it } from 'vitest'
import { ensureBuilt } from '../built.ts'
import { readPages } from './pages.ts'
import { follow, type Setting } from './reader.ts'
import { isShell } from './shell-page.ts'

// The threads of a service are built files.
ensureBuilt()

/** Conditions that a page assumes. */
const SETTINGS: Record<string, Setting> = {
  // Calls need a provider with voice.
  'docs/guides/twilio.md': {
    env: {
      SVC_PROVIDERS: JSON.stringify([
        {
          ...{
            name: 'twilio',
            type: 'twilio',
            account_sid: `AC${'0'.repeat(32)}`,
            auth_token: '0'.repeat(32),
          },
          senders: { voice: ['+15550100001'] },
          api_url: 'http://127.0.0.1:9',
        },
      ]),
    },
  },
  'docs/operating/backup.md': {
    sections: {
      Restoring: 'svc backup --to /var/backups/svc/svc-2026-01-31T23-59-59-000Z.db',
    },
  },
  // The reader has cloned the repository on the page before.
  'docs/start.md': { sections: { 'From nothing to a verified webhook': 'ln -s . svc' } },
  'docs/operating/install.md': { is_stopped: true, config: 'etc/svc/svc.config.json' },
  'docs/operating/restart-and-upgrade.md': { is_stopped: true, config: 'etc/svc/svc.config.json' },
  // svc compact refuses while a server runs.
  'docs/operating/retention.md': { is_stopped: true },
  'docs/operating/secrets.md': { is_stopped: true },
  'docs/operating/postgresql.md': {
    is_stopped: true,
    sections: {
      'Back to SQLite':
        'svc migrate --database postgres://svc:password@db.example/svc; rm data/svc.db*',
    },
  },
}

/** Includes the wait for the other pages. */
const TIMEOUT_MS = 300_000

/** Two at a time: more would only delay each other. */
const AT_ONCE = 2
let running = 0
const waiting: (() => void)[] = []

async function inTurn<T>(act: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await act()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

const pages = readPages().filter(({ blocks }) => blocks.some(isShell))

describe('the commands of each page work', {
  concurrent: true,
  timeout: TIMEOUT_MS,
}, () => {
  it.for(pages.map((page) => [page.path, page] as const))('%s', async ([path, page]) => {
    expect(await inTurn(() => follow(page, SETTINGS[path]))).toBe('')
  })
})
