import assert from 'node:assert/strict'
import type { CallbackReading, CallbackRequest } from '@svc/core/contract'
import { checkNoLeak, checkPlain } from './checks.ts'
import { type Garbage, garbageOf } from './garbage.ts'
import type { ProviderHarness } from './harness.ts'
import { caseOf, type ProviderCase, type Stage } from './stage.ts'

const ABOUT = {
  workspace_id: '11111111-1111-4111-8111-111111111111',
  message_id: '22222222-2222-4222-8222-222222222222',
  provider_message_id: 'peer-77',
}
const CANARY = 'canary-4712'
const RUNS = 300
const BODY_LENGTH = 500
const DEPTH = 50_000

/** Tests the promises of a provider with callbacks: it accepts only valid signatures and survives any request. */
export function callbackCases(harness: ProviderHarness): ProviderCase[] {
  const callbacks = (name: string, test: (stage: Stage) => Promise<void>) =>
    caseOf(harness, `callbacks ${name}`, test)
  return [
    ...(['delivered', 'failed'] as const).map((status) =>
      callbacks(`report a message as ${status}`, (stage) => reports(stage, status)),
    ),
    callbacks('are forged without headers and query', async (stage) => {
      const request = callback(stage)
      const url = request.url.split('?')[0] ?? ''
      assert.equal((await read(stage, { ...request, url, headers: {} })).type, 'forged')
    }),
    callbacks('are forged with the signature of another secret', async (stage) => {
      assert.equal((await read(stage, otherwiseSigned(callback(stage)))).type, 'forged')
    }),
    ...(harness.callbacks?.signs_body
      ? [callbacks('are forged if one bit of the body is changed', changedBits)]
      : []),
    callbacks('are never accepted with random headers, query and body', randomRequests),
    callbacks(
      'are read or refused without a repeat of their content if they are signed garbage',
      signedGarbage,
    ),
  ]
}

async function read({ bench }: Stage, request: CallbackRequest): Promise<CallbackReading> {
  const { provider } = bench
  assert.ok(provider.readCallback, 'the harness has callbacks, but the provider reads none')
  const reading = await provider.readCallback(request)
  checkPlain(reading)
  return reading
}

function callback({ bench }: Stage, status: 'delivered' | 'failed' = 'delivered'): CallbackRequest {
  const request = bench.callbacks?.of(ABOUT, status)
  assert.ok(request, 'the harness has callbacks, but the bench makes none')
  return request
}

async function reports(stage: Stage, status: 'delivered' | 'failed'): Promise<void> {
  const reading = await read(stage, callback(stage, status))
  assert.equal(reading.type, 'read')
  const found = reading.type === 'read' ? reading.reports : []
  assert.equal(found.length, 1, 'the callback has one report')
  const [report] = found
  assert.equal(report?.type, 'receipt')
  if (report?.type !== 'receipt') return
  assert.equal(report.receipt.status, status)
  // At least one of them identifies the message.
  const { about, provider_message_id } = report
  const { workspace_id, message_id } = ABOUT
  if (about) assert.deepEqual(about, { workspace_id, message_id })
  else assert.equal(provider_message_id, ABOUT.provider_message_id)
}

function otherwiseSigned(request: CallbackRequest): CallbackRequest {
  const changed = (text: string) => text.replace(/[a-zA-Z0-9]/g, (c) => (c === 'a' ? 'b' : 'a'))
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, text = '']) =>
      name.startsWith('content-') ? [name, text] : [name, changed(text)],
    ),
  )
  const [path = '', query = ''] = request.url.split('?')
  const url = query ? `${path}?${query.replace(/=[^&]*/g, changed)}` : path
  return { ...request, url, headers }
}

async function changedBits(stage: Stage): Promise<void> {
  const request = callback(stage)
  for (let at = 0; at < request.body.length; at += 1) {
    const body = Uint8Array.from(request.body)
    body[at] = (body[at] ?? 0) ^ 1
    assert.equal((await read(stage, { ...request, body })).type, 'forged', `byte ${at}`)
  }
}

async function randomRequests(stage: Stage): Promise<void> {
  const { url, headers } = callback(stage)
  const [path = ''] = url.split('?')
  const names = [...Object.keys(headers), 'content-type', 'x-any']
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const garbage = garbageOf(seed)
    const chosen = names.filter(() => garbage.below(2) === 0)
    const reading = await read(stage, {
      method: garbage.below(2) === 0 ? 'GET' : 'POST',
      url: `${path}?${garbage.text(200)}`,
      headers: Object.fromEntries(chosen.map((name) => [name, garbage.text(200)])),
      body: garbage.bytes(BODY_LENGTH),
    })
    assert.notEqual(reading.type, 'read', `random request ${seed}`)
  }
}

async function signedGarbage(stage: Stage): Promise<void> {
  const { callbacks } = stage.bench
  assert.ok(callbacks, 'the harness has callbacks, but the bench makes none')
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const reading = await read(stage, callbacks.signed(bodyOf(garbageOf(seed))))
    assert.ok(reading.type === 'read' || reading.type === 'unreadable', `signed garbage ${seed}`)
  }
  const deep = `${'['.repeat(DEPTH)}"${CANARY}"${']'.repeat(DEPTH)}`
  for (const text of [CANARY, `{"${CANARY}":`, `"${CANARY}"`, deep]) {
    const reading = await read(stage, callbacks.signed(bytesOf(text)))
    if (reading.type === 'unreadable') checkNoLeak(reading.reason, [CANARY])
  }
}

/** Bytes, JSON or a form. */
function bodyOf(garbage: Garbage): Uint8Array {
  switch (garbage.below(3)) {
    case 0:
      return garbage.bytes(BODY_LENGTH)
    case 1:
      return bytesOf(JSON.stringify(garbage.json()))
    default:
      return bytesOf(
        new URLSearchParams(
          Array.from({ length: garbage.below(6) }, (): [string, string] => [
            garbage.text(10),
            garbage.text(20),
          ]),
        ).toString(),
      )
  }
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
