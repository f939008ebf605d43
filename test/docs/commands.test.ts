import { describe, expect, it } from 'vitest'
import { readPages } from './pages.ts'
import { follow, type Setting } from './reader.ts'
import { isShell } from './shell-page.ts'

/** What pages take for granted that is otherwise not so. */
const SETTINGS: Record<string, Setting> = {
  // Calls are taken only where somebody makes them.
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
      Restoring: 'npx svc backup --to /var/backups/svc/svc-2026-01-31T23-59-59-000Z.db',
    },
  },
  'docs/operating/install.md': { is_stopped: true, config: 'etc/svc/svc.config.json' },
  'docs/operating/restart-and-upgrade.md': { is_stopped: true, config: 'etc/svc/svc.config.json' },
  'docs/operating/secrets.md': { is_stopped: true },
  'docs/operating/postgresql.md': {
    is_stopped: true,
    sections: {
      'Back to SQLite':
        'npx svc migrate --database postgres://svc:password@db.example/svc; rm data/svc.db*',
    },
  },
}

/** Of waiting for the others, too. */
const TIMEOUT_MS = 300_000

/** Two at a time: more of them only make each other late. */
const AT_ONCE = 2
let under_way = 0
const waiting: (() => void)[] = []

async function inTurn<T>(act: () => Promise<T>): Promise<T> {
  if (under_way >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else under_way++
  try {
    return await act()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else under_way--
  }
}

const pages = readPages().filter(({ blocks }) => blocks.some(isShell))

describe('what a reader pastes works, page by page', {
  concurrent: true,
  timeout: TIMEOUT_MS,
}, () => {
  it.for(pages.map((page) => [page.path, page] as const))('%s', async ([path, page]) => {
    expect(await inTurn(() => follow(page, SETTINGS[path]))).toBe('')
  })
})
