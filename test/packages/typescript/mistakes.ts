// The types must refuse each of these lines; otherwise this file does not compile.
import { Svc, webhookHandler } from '@svc/client'
import { type Core, createCore } from '@svc/core'
import { SvcError } from '@svc/core/contract'
import { countSegments } from '@svc/core/sms'
import { verify } from '@svc/core/webhooks'
import { startServer } from '@svc/server'
import { createSender, fixture } from '@svc/testkit'

// @ts-expect-error a database is required
await createCore({})
// @ts-expect-error there is no such option
await createCore({ database_url: 'file:./svc.db', databse: 'x' })
// @ts-expect-error amounts are decimal strings
await createCore({ database_url: 'file:./svc.db', signup_credits: 100 })

declare const core: Core
const identity = await core.apiKeys.authenticate('key', '127.0.0.1')
// @ts-expect-error a key is not an identity
await core.messages.send('key', { channel: 'sms', to: '+15005550006', content: { text: 'x' } })
// @ts-expect-error there is no such channel
await core.messages.send(identity, { channel: 'fax', to: '+15005550006', content: { text: 'x' } })
// @ts-expect-error an SMS has a text
await core.messages.send(identity, { channel: 'sms', to: '+15005550006', content: {} })
// @ts-expect-error there is no such scope
await core.apiKeys.create('id', { name: 'x', scopes: ['everything'], mode: 'live' })
// @ts-expect-error there is no such code
new SvcError('no_such_code', 'text')

const client = new Svc({ apiKey: 'key' })
// @ts-expect-error a recipient is required
await client.messages.send({ channel: 'sms', content: { text: 'x' } })
// @ts-expect-error there is no such endpoint
await client.messages.recall({})

// @ts-expect-error only a text can be counted
countSegments(7)
// @ts-expect-error the body is required
verify({ secret: 'x', headers: {} })
// @ts-expect-error settings are required
await startServer({})
// @ts-expect-error there is no such event
fixture('message.lost')
// @ts-expect-error an event has no such field
fixture('message.failed', { colour: 'red' })
// @ts-expect-error a sender signs
createSender({})
// @ts-expect-error there is no such event
webhookHandler({ secret: 'x', on: { 'message.lost': () => {} } })
