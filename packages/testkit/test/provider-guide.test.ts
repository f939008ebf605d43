import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureBuilt } from '../../../test/built.ts'
import type { ProviderHarness } from '../src/provider/harness.ts'
import { providerCases, providerContract } from '../src/provider.ts'

ensureBuilt()

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const GUIDE = readFileSync(join(PACKAGE, '../../docs/guides/add-a-provider.md'), 'utf8')

const BLOCKS = new Map(
  [...GUIDE.matchAll(/^```js (\S+)\n(.*?)^```$/gms)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
)

// Inside the package, so that its dependencies resolve.
const folder = mkdtempSync(join(PACKAGE, 'node_modules', '.provider-guide-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, code: string | undefined): string {
  const file = join(folder, name)
  if (code === undefined) throw new Error(`the guide has no block for ${name}`)
  writeFileSync(file, code)
  return file
}

async function run(...parts: string[]): Promise<{ code: number | null; printed: string }> {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ACME_URL: 'http://127.0.0.1:9',
    SMTP_URL: 'smtp://127.0.0.1:9',
  }
  // Set by a runner of node:test; the child would report to it.
  delete env.NODE_TEST_CONTEXT
  const child = spawn(process.execPath, parts, {
    cwd: folder,
    env,
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed += chunk
    })
  }
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, printed }
}

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules/@svc'), { recursive: true })
  symlinkSync(PACKAGE, join(folder, 'node_modules/@svc/testkit'))
  symlinkSync(join(PACKAGE, '../core'), join(folder, 'node_modules/@svc/core'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  write('acme.js', BLOCKS.get('acme'))
})

describe('the guide', () => {
  it('has a provider in 30 lines', () => {
    const lines = (BLOCKS.get('acme') ?? '').split('\n')
    const code = lines.filter((line) => line.trim() !== '' && !/^\s*\/[/*]/.test(line))
    expect(code.length).toBeLessThanOrEqual(30)
  })

  it('has an app whose core takes the provider', async () => {
    const shown = `${BLOCKS.get('acme-app')}
for (const { name, type } of await core.providers.status()) console.log(name, type)
await core.close()`
    expect(await run(write('app.js', shown))).toEqual({
      code: 0,
      printed: 'acme custom\nmail smtp\n',
    })
  })

  it('has a provider that passes the contract suite with node:test', async () => {
    write('acme.test.js', BLOCKS.get('acme-test'))
    const { code, printed } = await run('--test', '--test-reporter=tap', 'acme.test.js')
    expect([code, printed]).toEqual([0, expect.stringMatching(/^# fail 0$/m)])
    expect(Number(/^# pass (\d+)$/m.exec(printed)?.[1])).toBeGreaterThanOrEqual(13)
  }, 60_000)
})

describe('the contract suite', () => {
  const FAULTS: [string, string, string, RegExp][] = [
    [
      'retries after an unanswered request',
      "'retry' : 'ambiguous'",
      "'retry' : 'retry'",
      /_after_read/,
    ],
    ['refuses for good what it should retry', 'status === 429 ||', '', /throttle/],
    [
      'repeats the content',
      "error_message: 'Acme did not answer'",
      'error_message: content.text',
      /_after_read/,
    ],
    [
      'fails messages with wrong credentials',
      'if (status === 401)',
      'if (status === 4)',
      /wrong credentials/,
    ],
    [
      'gives every message one identity',
      "'idempotency-key': message_id",
      "'idempotency-key': 'x'",
      /identity/,
    ],
    ['makes up an id', 'provider_message_id: id', "provider_message_id: 'x'", /accept/],
  ]

  it.each(FAULTS)(
    'finds a provider that %s',
    async (_, right, wrong, cases) => {
      const code = BLOCKS.get('acme') ?? ''
      expect(code).toContain(right)
      write('wrong.js', code.replace(right, wrong))
      const suite = BLOCKS.get('acme-test')?.replace('./acme.js', './wrong.js')
      write('wrong.test.js', suite)
      const only = `--test-name-pattern=${cases.source}`
      const { printed } = await run('--test', '--test-reporter=tap', only, 'wrong.test.js')
      const failed = [...printed.matchAll(/^ +not ok \d+ - (.*)$/gm)].map(([, name]) => name)
      expect(failed.join('\n')).toMatch(cases)
    },
    60_000,
  )

  it('registers its cases with any runner', async () => {
    const harness = { fates: [], refusals: [], callbacks: null, traits: {} } as unknown
    const names: string[] = []
    providerContract(
      'acme',
      {
        describe(name, register) {
          names.push(name)
          register()
        },
        it: (name, run, timeout_ms) => names.push(`${name} ${run.length} ${timeout_ms}`),
      },
      harness as ProviderHarness,
    )
    const cases = providerCases(harness as ProviderHarness).map(({ name }) => `${name} 0 60000`)
    expect(names).toEqual(['provider acme', ...cases])
  })
})
