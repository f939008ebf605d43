import { readFileSync } from 'node:fs'
import type {
  api,
  apiFor,
  EventKind,
  WireBody,
  WireData,
  WireEventData,
  WireSendRequest,
} from '@svc/core/contract'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { clientTexts } from '../../../scripts/client/texts.ts'
import { ENDPOINTS } from '../src/generated/endpoints.ts'
import {
  type Bulk,
  type BulksSendData,
  type Contact,
  type ContactsCreateBody,
  type EventData,
  type Message,
  type MessagesEstimateData,
  type MessagesSendBody,
  type MessagesSendData,
  Svc,
  type WebhooksCreateBody,
  type WebhooksListData,
  type WebhooksUpdateBody,
} from '../src/index.ts'

type Api = typeof api
type WithVoice = ReturnType<typeof apiFor>

describe('the generated files', () => {
  it.each(Object.entries(clientTexts()))('%s follows the table of the API', (name, text) => {
    const file = new URL(`../src/generated/${name}`, import.meta.url)
    // If this fails: npm run docs
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})

it('has the methods of every group of endpoints', () => {
  const groups = new Svc({ apiKey: 'svc_x', baseUrl: 'http://127.0.0.1:1' })
  for (const [group, endpoints] of Object.entries(ENDPOINTS)) {
    expect(groups[group as keyof Svc], group).toMatchObject(
      Object.fromEntries(Object.keys(endpoints).map((name) => [name, expect.any(Function)])),
    )
  }
})

describe('the types', () => {
  it('of answers promise what the contract promises', () => {
    expectTypeOf<WireData<Api['messages']['send']>>().toExtend<MessagesSendData>()
    expectTypeOf<MessagesSendData>().toExtend<WireData<Api['messages']['send']>>()
    expectTypeOf<WireData<Api['bulks']['send']>>().toExtend<BulksSendData>()
    type StoredBulk = Omit<WireData<Api['bulks']['get']>['bulk'], 'content'>
    expectTypeOf<StoredBulk>().toExtend<Omit<Bulk, 'content'>>()
    expectTypeOf<Omit<Bulk, 'content'>>().toExtend<StoredBulk>()
    expectTypeOf<WireData<Api['webhooks']['list']>>().toExtend<WebhooksListData>()
    expectTypeOf<WireData<WithVoice['messages']['estimate']>>().toExtend<MessagesEstimateData>()
    type Stored = Omit<WireData<Api['messages']['get']>['message'], 'content'>
    expectTypeOf<Stored>().toExtend<Omit<Message, 'content'>>()
    expectTypeOf<Omit<Message, 'content'>>().toExtend<Stored>()
    expectTypeOf<Contact['created_at']>().toEqualTypeOf<string>()
  })

  it('of requests accept what the contract accepts', () => {
    expectTypeOf<WireSendRequest>().toExtend<MessagesSendBody>()
    expectTypeOf<WireBody<Api['contacts']['create']>>().toExtend<ContactsCreateBody>()
    expectTypeOf<WireBody<Api['webhooks']['create']>>().toExtend<WebhooksCreateBody>()
    expectTypeOf<WireBody<Api['webhooks']['update']>>().toExtend<WebhooksUpdateBody>()
    expectTypeOf<{ channel: 'sms'; to: string }>().not.toExtend<MessagesSendBody>()
  })

  it('of events are those of the contract', () => {
    expectTypeOf<keyof EventData>().toEqualTypeOf<EventKind>()
    expectTypeOf<EventData['message.sent']>().toExtend<WireEventData<'message.sent'>>()
    expectTypeOf<WireEventData<'message.sent'>>().toExtend<EventData['message.sent']>()
    expectTypeOf<EventData['credits.low']>().toExtend<WireEventData<'credits.low'>>()
  })
})
