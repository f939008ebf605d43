import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createCore } from '../../../src/core.ts'
import type { CoreOptions } from '../../../src/core-options.ts'
import { defineProvider } from '../../../src/providers/defined/define-provider.ts'
import type { ProviderOption } from '../../../src/providers/install.ts'
import { type Log, systemRuntime } from '../../../src/runtime/runtime.ts'
import { migratedFolder } from '../../migrated-file.ts'
// @ts-expect-error a module of an embedding program, without types
import makeAcme from './acme.mjs'

const MODULE = new URL('./acme.mjs', import.meta.url)
/** For what takes longer on a busy machine. */
const PATIENCE = { timeout: 20_000 }
const CANARY = 'canary-content-4711'

const closing: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A core on a database of its own, with a workspace that may send. */
async function openCore(providers: readonly ProviderOption[], options: Partial<CoreOptions> = {}) {
  const folder = await migratedFolder('svc-defined-')
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const lines: { level: string; fields: Record<string, unknown>; text: string }[] = []
  const logger = (level: string) => (fields: object, text: string) =>
    void lines.push({ level, fields: { ...fields }, text })
  const log: Log = {
    debug: logger('debug'),
    info: logger('info'),
    warn: logger('warn'),
    error: logger('error'),
  }
  const core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    signup_credits: '100',
    public_url: () => 'https://svc.test',
    providers,
    runtime: systemRuntime(log),
    ...options,
  })
  closing.push(() => core.close())
  const { id } = await core.workspaces.signup({
    email: 'ops@example.com',
    password: 'long enough',
    company_name: 'Acme',
  })
  const scopes = ['send_messages' as const]
  const { key } = await core.apiKeys.create(id, { name: 'A', mode: 'live', scopes })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const send = async (to: string, from?: string) => {
    const content = { text: CANARY }
    const request = { channel: 'sms', to, content, ...(from && { from }) } as const
    return (await core.messages.send(identity, request)).data.message_id
  }
  const attempts = async (message_id: string) =>
    (await core.messages.timeline(id, message_id)).filter(({ kind }) => kind === 'provider')
  return {
    core,
    lines,
    send,
    attempts,
    statusOf: async (message_id: string) => (await core.messages.get(id, message_id)).status,
    faults: () => lines.filter(({ text }) => text === 'the code of a provider failed'),
  }
}

const PLACES = [
  ['a value, in the main thread', 'main', () => makeAcme()],
  ['a module, in the pool', 'pool', () => ({ module: MODULE })],
] as const

describe.each(PLACES)('a provider of the embedding program: %s', (_, thread, provider) => {
  it('sends, with its first sender or the chosen one', async () => {
    const { core, send, attempts, statusOf } = await openCore([provider()])
    await core.startDispatch()
    for (const [from, sender] of [
      [undefined, '+14155550190'],
      ['+14155550191', '+14155550191'],
    ] as const) {
      const id = await send('+14155550100', from)
      await expect.poll(() => statusOf(id)).toBe('sent')
      expect(await attempts(id)).toMatchObject([
        { provider: 'acme', outcome: 'accepted', provider_message_id: `${thread}:${sender}:${id}` },
      ])
    }
    await expect(send('+14155550100', '+14155550199')).rejects.toMatchObject({
      code: 'validation_error',
    })
  })

  it('is ambiguous for a message after an exception, and the log has no content', async () => {
    const { core, send, attempts, statusOf, lines, faults } = await openCore([provider()])
    await core.startDispatch()
    const [failing, other] = [await send('+14155550101'), await send('+14155550100')]
    await expect.poll(() => statusOf(other)).toBe('sent')
    await expect
      .poll(() => attempts(failing))
      .toMatchObject([{ outcome: 'ambiguous', error_code: 'provider_fault' }])
    await expect.poll(faults).toMatchObject([
      {
        level: 'error',
        fields: {
          provider: 'acme',
          call: 'send',
          fault: 'Error',
          at: expect.arrayContaining([expect.stringMatching(/acme\.mjs/)]),
        },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain(CANARY)
  })

  it('is looked up after an unknown outcome', async () => {
    const { core, send, statusOf } = await openCore([provider()])
    await core.startDispatch()
    const id = await send('+14155550101')
    await expect.poll(() => statusOf(id), { timeout: 25_000 }).toBe('sent')
  })

  it('is ambiguous for a message that never gets an answer, and does not delay close', async () => {
    const { core, send, attempts } = await openCore([provider()], { lease_ms: 2_000 })
    await core.startDispatch()
    const id = await send('+14155550109')
    await expect
      .poll(() => attempts(id))
      .toMatchObject([{ outcome: 'ambiguous', error_code: 'no_answer' }])
    await core.close({ grace_ms: 100 })
  })

  it('reads callbacks with a secret of its own', async () => {
    const { core, send, statusOf, faults, lines } = await openCore([provider()])
    await core.startDispatch()
    const id = await send('+14155550100')
    await expect.poll(() => statusOf(id)).toBe('sent')
    expect(core.providers.callbackLimits()).toEqual(new Map([['acme', 262_144]]))
    let secret = ''
    const spy = defineProvider({
      name: 'acme',
      traits: { channels: ['sms'] },
      send: async () => [],
      check: (context) => {
        secret = context.secret
        return null
      },
    })
    await secretOf(spy, core.secret('providers'))
    const callback = (body: object, given = secret) =>
      core.providers.callback('acme', {
        method: 'POST',
        url: 'https://svc.test/callbacks/acme',
        headers: { 'x-secret': given },
        body: new TextEncoder().encode(JSON.stringify(body)),
      })
    expect(await callback({}, await core.secret('providers'))).toEqual({ type: 'forged' })
    const receipt = { status: 'delivered', provider_message_id: `${thread}:+14155550190:${id}` }
    expect(await callback(receipt)).toMatchObject({
      type: 'read',
      answer: { body: 'https://svc.test/callbacks/acme' },
    })
    expect(await statusOf(id)).toBe('delivered')
    expect(await callback({ thrown: CANARY })).toEqual({
      type: 'unreadable',
      reason: 'the provider failed to read it',
    })
    expect(faults()).toMatchObject([{ fields: { call: 'readCallback', fault: 'Error' } }])
    expect(JSON.stringify(lines)).not.toContain(CANARY)
  })

  it('is shown, checked and tried', async () => {
    const { core } = await openCore([provider()])
    expect(await core.providers.status()).toMatchObject([
      { name: 'acme', type: 'custom', channels: ['sms'], pauses: [], connections: [] },
    ])
    expect(await core.providers.check('acme')).toEqual({ type: 'ok' })
    const trial = { channel: 'sms', to: '+14155550100', content: { text: 'Hi' } } as const
    expect(await core.providers.send('acme', trial)).toMatchObject({ type: 'accepted' })
  })
})

it('a message whose call was given up is sent again when the call turns out not to have begun', async () => {
  const held = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const cells = new Int32Array(held)
  const release = () => {
    Atomics.store(cells, 1, 1)
    Atomics.notify(cells, 1)
  }
  const { core, send, attempts, statusOf } = await openCore(
    [{ module: MODULE, settings: { held } }],
    { lease_ms: 2_000, threads: 1 },
  )
  closing.push(release)
  await core.startDispatch()
  const first = await send('+14155550108')
  await expect.poll(() => Atomics.load(cells, 0), PATIENCE).toBe(1)
  // The first call holds the thread: the second one waits for the thread until it may not begin any more.
  const second = await send('+14155550100')
  const last = async () => (await attempts(second)).at(-1)
  await expect.poll(last, PATIENCE).toMatchObject({ outcome: 'ambiguous', error_code: 'no_answer' })
  release()
  await expect.poll(last, PATIENCE).toMatchObject({ outcome: 'accepted' })
  const [earliest] = await attempts(second)
  expect(earliest).toMatchObject({ attempt: 1, outcome: 'retry', error_code: 'not_called' })
  expect(await statusOf(second)).toBe('sent')
  await expect.poll(() => statusOf(first), PATIENCE).toBe('sent')
})

it('a paused provider gets its messages after the resume', async () => {
  const { core, send, statusOf } = await openCore([makeAcme()])
  await core.providers.pause('acme', { reason: 'Maintenance' })
  const dispatcher = await core.startDispatch()
  const id = await send('+14155550100')
  await dispatcher.idle()
  expect(await statusOf(id)).toBe('queued')
  await core.providers.resume('acme')
  await expect.poll(() => statusOf(id)).toBe('sent')
})

/** Opens a provider in a core of the same secrets; its check then sees the secret. */
async function secretOf(spy: ReturnType<typeof defineProvider>, secret: Promise<string>) {
  const { installDefined } = await import('../../../src/providers/installed.ts')
  const context = { public_url: '', callback_url: '', secret: await secret }
  const opened = await installDefined(spy).open(context, () => {})
  await opened.check?.()
}

it('code and settings serve side by side, in their order', async () => {
  const { core, send, attempts, statusOf } = await openCore([
    {
      type: 'http',
      name: 'whatsapp_only',
      channels: ['whatsapp'],
      send: { url: 'http://127.0.0.1:9/', body: { text: '{{text}}' } },
    },
    { module: MODULE.href, settings: { name: 'first' } },
    makeAcme({ name: 'second' }),
  ])
  expect((await core.providers.status()).map(({ name, type }) => `${type} ${name}`)).toEqual([
    'http whatsapp_only',
    'custom first',
    'custom second',
  ])
  await core.providers.pause('first', { reason: 'Maintenance' })
  await core.startDispatch()
  const id = await send('+14155550100')
  await expect.poll(() => statusOf(id)).toBe('sent')
  expect(await attempts(id)).toMatchObject([{ provider: 'second' }])
})

it('a provider that refuses its settings is paused, and its pace is kept', async () => {
  const sent: number[] = []
  const slow = defineProvider({
    name: 'slow',
    traits: { channels: ['sms'], messages_per_second: 2 },
    send: (jobs) =>
      jobs.map(({ recipient }) => {
        sent.push(Number(recipient.at(-1)))
        return {
          type: 'retry',
          error_code: 'unauthorized',
          error_message: 'Wrong key',
          delay_ms: null,
          misconfigured: 'provider',
        }
      }),
  })
  const { core, send } = await openCore([slow])
  expect(await core.providers.status()).toMatchObject([{ messages_per_second: 2 }])
  await core.startDispatch()
  await send('+14155550101')
  await expect
    .poll(async () => (await core.providers.status())[0]?.pauses)
    .toMatchObject([{ cause: 'misconfigured', code: 'unauthorized', reason: 'Wrong key' }])
  await send('+14155550102')
  expect(sent).toEqual([1])
})

it('a provider that listens stores the reports that it receives, and closes with the core', async () => {
  const events: string[] = []
  let deliver: (provider_message_id: string) => Promise<void> = async () => {}
  const listening = defineProvider({
    name: 'radio',
    traits: { channels: ['sms'], connected: true },
    send: (jobs) =>
      jobs.map(({ message_id }) => ({
        type: 'accepted',
        provider_message_id: message_id,
        part_ids: [message_id],
        lookup_after_ms: null,
      })),
    async listen(sink) {
      events.push('listen')
      deliver = async (id) => {
        const error = { error_code: null, error_message: null }
        const receipt = { status: 'delivered', provider_message_id: id, ...error } as const
        await sink.receive([{ type: 'receipt', about: null, provider_message_id: id, receipt }])
      }
      return {
        states: () => [{ name: 'antenna', state: 'up', detail: 'on air' }],
        close: async () => void events.push('closed listening'),
      }
    },
    close: async () => void events.push('close'),
  })
  const { core, send, statusOf } = await openCore([listening])
  await core.startDispatch()
  const id = await send('+14155550100')
  await expect.poll(() => statusOf(id)).toBe('sent')
  await deliver(id)
  expect(await statusOf(id)).toBe('delivered')
  expect(await core.providers.status()).toMatchObject([{ connections: [{ name: 'antenna' }] }])
  await core.close()
  expect(events).toEqual(['listen', 'closed listening', 'close'])
})

it.each<[string, unknown, string]>([
  ['no array', { type: 'sandbox' }, 'providers: must be an array'],
  ['no object', ['acme'], 'providers[0]: must be an object'],
  ['an unknown type', [{ type: 'pigeon', name: 'a' }], 'providers[0].type: is not valid'],
  [
    'a wrong field of settings',
    [makeAcme(), { type: 'smpp', name: 'carrier', binds: [{ host: CANARY, port: 'x' }] }],
    'providers[1].binds.0.',
  ],
  [
    'an unknown field',
    [{ type: 'sandbox', name: 'sandbox', secret: CANARY }],
    'providers[0]: Unknown field: secret',
  ],
  [
    'a name twice',
    [makeAcme(), { module: MODULE }],
    'providers[1].name: acme is also providers[0].name',
  ],
  [
    'the name of the sandbox',
    [makeAcme({ name: 'sandbox' })],
    'providers[0].name: sandbox is reserved',
  ],
  [
    'an undefined definition',
    [{ name: 'acme', send() {} }],
    'providers[0] must be made by defineProvider',
  ],
  [
    'a module without a file URL',
    [{ module: './acme.mjs' }],
    'providers[0].module must be a file: URL',
  ],
  [
    'a module that is missing',
    [{ module: new URL('./nothing.mjs', MODULE) }],
    'providers[0].module cannot be used: ',
  ],
  [
    'a module that throws',
    [{ module: MODULE, settings: { fails: true } }],
    'providers[0].module cannot be used: no settings for Acme',
  ],
  [
    'a module of something else',
    [{ module: new URL('./nothing-exported.mjs', MODULE) }],
    'providers[0].module cannot be used: the default export must be',
  ],
  [
    'settings that no thread can receive',
    [{ module: MODULE, settings: { on() {} } }],
    'providers[0].settings must be plain data',
  ],
])('%s is refused before the database is opened', async (_, providers, text) => {
  const options = { database_url: 'file:/nowhere/svc.db', providers } as CoreOptions
  const error = await createCore(options).catch((caught) => caught)
  expect(error.message.slice(0, text.length)).toBe(text)
  expect(error.message).not.toContain(CANARY)
})
