import { describe, expect, it } from 'vitest'
import type { CallbackRequest } from '../../../src/contract/outside/provider.ts'
import { callbackUrlOf } from '../../../src/providers/http/callback.ts'
import { httpProvider } from '../../../src/providers/http/provider.ts'
import { settings } from '../../../src/providers/http/settings.ts'
import { CONTEXT, jsonSettings, querySettings, signedJson } from './gateway.ts'

const ABOUT = {
  workspace_id: '11111111-1111-4111-8111-111111111111',
  message_id: '22222222-2222-4222-8222-222222222222',
}
const REFERENCE = `${ABOUT.workspace_id}.${ABOUT.message_id}`

function reader(base: object, changes: object = {}) {
  const provider = httpProvider(settings.parse({ ...base, ...changes }), CONTEXT)
  return (request: CallbackRequest) => provider.readCallback?.(request)
}

const json = jsonSettings('http://gateway.test')
const readJson = reader(json)

describe('a receipt', () => {
  it('has the status, id and error of the gateway', () => {
    const body = { ref: REFERENCE, id: 'g1', state: 'FAILED', code: 17, reason: 'gone\naway' }
    const receipt = {
      status: 'failed',
      provider_message_id: 'g1',
      error_code: '17',
      error_message: 'gone away',
    }
    expect(readJson(signedJson(body))).toEqual({
      type: 'read',
      reports: [{ type: 'receipt', about: ABOUT, provider_message_id: 'g1', receipt }],
    })
  })

  it('has no error for a delivered message', () => {
    const reading = readJson(signedJson({ ref: REFERENCE, state: 'DONE', code: 0, reason: 'ok' }))
    expect(reading).toMatchObject({
      reports: [{ receipt: { status: 'delivered', error_code: null, error_message: null } }],
    })
  })

  it.each([
    ['an unknown status', { ref: REFERENCE, state: 'BUFFERED' }, { type: 'read', reports: [] }],
    ['no status', { ref: REFERENCE }, { type: 'unreadable', reason: 'It has no status' }],
    ['no message', { state: 'DONE' }, { type: 'unreadable', reason: 'It names no message' }],
    ['a reference of another kind', { ref: 'x.y', state: 'DONE' }, { type: 'unreadable' }],
    ['no object', 'text', { type: 'unreadable' }],
    ['a prototype', { __proto__: { state: 'DONE' } }, { type: 'unreadable' }],
  ])('with %s', (_, body, expected) => {
    expect(readJson(signedJson(body))).toMatchObject(expected)
  })

  it('may be one of a list, which is unreadable if one item is', () => {
    const read = reader(json, {
      callback: { ...json.callback, receipts: { ...json.callback.receipts, list: '/results' } },
    })
    const item = { id: 'g1', state: 'DONE' }
    const of = (results: unknown) => read(signedJson({ results }))
    expect(of([item, { id: 'g2', state: 'FAILED' }])).toMatchObject({
      reports: [{ provider_message_id: 'g1' }, { provider_message_id: 'g2' }],
    })
    expect(of([])).toEqual({ type: 'read', reports: [] })
    expect(of([item, {}])).toMatchObject({ type: 'unreadable' })
    expect(of({})).toMatchObject({ type: 'unreadable' })
    expect(of(Array(1_001).fill(item))).toMatchObject({ type: 'unreadable' })
    // The URL names one message, a list has several.
    const signed = new URL(callbackUrlOf(ABOUT, CONTEXT, undefined)).search
    expect(read(signedJson({ results: [item] }, signed))).toMatchObject({
      reports: [{ about: null }],
    })
  })
})

describe('the callback URL of a message', () => {
  const read = reader(querySettings('http://gateway.test'))
  const get = (url: string): CallbackRequest => ({
    method: 'GET',
    url,
    headers: {},
    body: new Uint8Array(),
  })
  const url = `${callbackUrlOf(ABOUT, CONTEXT, undefined)}&status=1`

  it('is valid for this message only', () => {
    expect(read(get(url))).toMatchObject({ reports: [{ about: ABOUT }] })
    const other = ABOUT.message_id.replace('2', '3')
    expect(read(get(url.replace(ABOUT.message_id, other)))).toEqual({ type: 'forged' })
    expect(read(get(url.replace(/&s=[^&]*/, '')))).toEqual({ type: 'forged' })
    expect(read(get(url.replace(/&s=[^&]*/, '&s=')))).toEqual({ type: 'forged' })
  })

  it('is forged with the signature of another provider or service', () => {
    const elsewhere = { ...CONTEXT, callback_url: 'https://svc.test/callbacks/other' }
    const of_other_provider = callbackUrlOf(ABOUT, elsewhere, undefined).replace(
      '/other',
      '/gateway',
    )
    expect(read(get(`${of_other_provider}&status=1`))).toEqual({ type: 'forged' })
    const of_other_service = callbackUrlOf(ABOUT, { ...CONTEXT, secret: 'other' }, undefined)
    expect(read(get(`${of_other_service}&status=1`))).toEqual({ type: 'forged' })
  })

  it('accepts a form', () => {
    const form = reader(querySettings('http://gateway.test'), {
      callback: { receipts: { status: '/st', statuses: { D: 'delivered' } } },
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    const body = new TextEncoder().encode('st=D&other=%zz')
    expect(form({ method: 'POST', url, headers, body })).toMatchObject({
      reports: [{ about: ABOUT, receipt: { status: 'delivered' } }],
    })
  })
})

describe('a token', () => {
  const token = 'canary-token-of-16'
  const auth = (place: 'query' | 'header') => ({ type: 'token', in: place, name: 'key', token })
  const callback = (place: 'query' | 'header') => ({
    ...querySettings('').callback,
    auth: auth(place),
    answer: { content_type: 'text/plain', body: 'OK' },
  })
  const query = querySettings('http://gateway.test')

  it('in the query is part of the callback URL, and required', () => {
    const chosen = settings.parse({ ...query, callback: callback('query') })
    const url = `${callbackUrlOf(ABOUT, CONTEXT, chosen.callback)}&status=1`
    const read = reader(query, { callback: callback('query') })
    const request = { method: 'GET' as const, url, headers: {}, body: new Uint8Array() }
    expect(read(request)).toMatchObject({
      reports: [{ about: ABOUT }],
      answer: { content_type: 'text/plain', body: 'OK' },
    })
    expect(read({ ...request, url: url.replace(token, `${token}x`) })).toEqual({ type: 'forged' })
    expect(read({ ...request, url: url.replace(`key=${token}`, '') })).toEqual({ type: 'forged' })
  })

  it('in a header is required', () => {
    const url = `${callbackUrlOf(ABOUT, CONTEXT, undefined)}&status=1`
    const read = reader(query, { callback: callback('header') })
    const request = { method: 'GET' as const, url, headers: { key: token }, body: new Uint8Array() }
    expect(read(request)).toMatchObject({ type: 'read' })
    expect(read({ ...request, headers: {} })).toEqual({ type: 'forged' })
    expect(read({ ...request, url: `${url}&key=${token}`, headers: {} })).toEqual({
      type: 'forged',
    })
  })
})

describe('a message of a recipient', () => {
  const inbound = (body: unknown) => readJson(signedJson(body, '?inbound'))
  const message = { id: 'in1', from: '15557654321', to: '15005550100', text: 'STOP\0 it' }

  it('has E.164 numbers with a plus sign', () => {
    expect(inbound(message)).toEqual({
      type: 'read',
      reports: [
        {
          type: 'received',
          channel: 'sms',
          provider_message_id: 'in1',
          sender: '+15557654321',
          recipient: '+15005550100',
          content: { text: 'STOP\ufffd it', media: [] },
        },
      ],
    })
  })

  it.each([
    [
      'a name as the sender is ignored',
      { ...message, from: 'BANK' },
      { type: 'read', reports: [] },
    ],
    [
      'the prefix 00 is the plus sign',
      { ...message, from: '0015557654321', to: '0015005550100' },
      { reports: [{ sender: '+15557654321', recipient: '+15005550100' }] },
    ],
    ['a short code of ours', { ...message, to: '4711' }, { reports: [{ recipient: '4711' }] }],
    ['no id', { ...message, id: undefined }, { reports: [{ provider_message_id: null }] }],
    ['no text', { ...message, text: 1 }, { type: 'unreadable', reason: 'It has no text' }],
    ['no sender', { text: 'x' }, { type: 'unreadable' }],
  ])('%s', (_, body, expected) => {
    expect(inbound(body)).toMatchObject(expected)
  })

  it('is unreadable without settings for it', () => {
    const { inbound: _, ...callback } = json.callback
    const read = reader(json, { callback })
    expect(read(signedJson(message, '?inbound'))).toMatchObject({ type: 'unreadable' })
  })
})
