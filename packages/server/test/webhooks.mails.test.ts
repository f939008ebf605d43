import { afterEach, expect, it } from 'vitest'
import { openReceiver } from './receiver.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })
const MINUTE_MS = 60_000

let receivers: Awaited<ReturnType<typeof openReceiver>>[] = []
afterEach(async () => {
  for (const receiver of receivers) await receiver.close()
  receivers = []
})

/** A verified workspace with a webhook to a receiver that answers 500 at first. */
async function failing() {
  const state = { status: 500 }
  const receiver = await openReceiver({ answer: () => state.status })
  receivers.push(receiver)
  const account = await world().signup({ credits: 100 })
  await world().verify(account)
  const webhook = await world().webhook(account, { url: `${receiver.url}/secret-path` })
  const { token, email } = account
  const test = async () => {
    await world().call('POST', `/api/v1/webhooks/${webhook.id}/test`, { token })
    await world().dispatcher.idle()
  }
  return {
    state,
    receiver,
    test,
    put: (json: object) => world().call('PUT', '/api/v1/account', { token, json }),
    /** Five failures, the last of them after 16 minutes: the answers take time. */
    async fail() {
      for (let i = 0; i < 4; i++) await test()
      await world().advance(16 * MINUTE_MS)
      await test()
    },
    async mails() {
      await world().dispatcher.idle()
      await world().core.mails.idle()
      const all = world().core.mails.list()
      return all.filter(({ to, kind }) => to === email && kind === 'webhook_failure')
    },
  }
}

it('mails the owner once when a webhook begins to fail, and once when it is disabled', async () => {
  const { state, receiver, test, fail, mails } = await failing()
  for (let i = 0; i < 6; i++) await test()
  expect(await mails()).toEqual([])
  await fail()
  const [mail, ...others] = await mails()
  expect(others).toEqual([])
  expect(mail?.subject).toBe('A webhook fails')
  expect(mail?.text).toContain(new URL(receiver.url).host)
  expect(mail?.text).not.toContain('secret-path')
  await world().advance(2 * 60 * MINUTE_MS)
  await test()
  expect(await mails()).toHaveLength(1)
  state.status = 410
  await test()
  expect((await mails()).map(({ subject }) => subject).sort()).toEqual([
    'A webhook fails',
    'A webhook was disabled',
  ])
})

it('mails again only after a success, at most once an hour', async () => {
  const { state, test, fail, mails } = await failing()
  await fail()
  expect(await mails()).toHaveLength(1)
  state.status = 200
  await test()
  state.status = 500
  await fail()
  expect(await mails()).toHaveLength(1)
  await world().advance(60 * MINUTE_MS)
  expect(await mails()).toHaveLength(2)
})

it('mails nothing while the workspace has turned these mails off', async () => {
  const { put, fail, mails } = await failing()
  const { body } = await put({ webhook_mails: false })
  expect(body.data.webhook_mails).toBe(false)
  await fail()
  expect(await mails()).toEqual([])
})
