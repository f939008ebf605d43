import type { api, WireData } from '@svc/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { type Running, start, svc, svcJson } from './svc.ts'

type Webhooks = typeof api.webhooks

let server: DevServer
let listen: Running
let id: string

beforeAll(async () => {
  server = await startDevServer()
  listen = start(['webhooks', 'listen', '--events', 'message.failed', '--json'], server.here)
  const [, found = ''] = await listen.until(/"webhook_id":"([^"]+)"/)
  id = found
})

afterAll(async () => {
  await listen.stop()
  await server.close()
})

const run = (...argv: string[]) => svc(['webhooks', ...argv], server.here)

/** A retry of an attempt in flight changes nothing, so the tests wait for the result of the first attempt. */
async function untilStored(deliveryId: string): Promise<void> {
  await expect
    .poll(async () => (await run('deliveries', id, '--event', 'webhook.test')).stdout)
    .toMatch(new RegExp(`^${deliveryId}\\t\\S+\\twebhook\\.test\\tdelivered\\t1\\t`, 'm'))
}

test('list shows each webhook with its status', async () => {
  const { code, stdout } = await run('list')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    new RegExp(`^${id}\\tactive\\thttp://127\\.0\\.0\\.1:\\d+/\\tmessage\\.failed\\tall\n$`),
  )
})

describe('update', () => {
  test('changes the given fields; enable resets the status', async () => {
    const argv = ['update', id, '--events', 'message.failed,message.read', '--disable']
    expect((await run(...argv)).stdout).toContain('disabled (manual)')
    const { webhooks } = await svcJson<WireData<Webhooks['list']>>(
      ['webhooks', 'list'],
      server.here,
    )
    expect(webhooks).toMatchObject([{ id, events: ['message.failed', 'message.read'] }])
    expect((await run('enable', id)).stdout).toContain('\tactive\t')
  })

  test('refuses an update without a field', async () => {
    const { code, stderr } = await run('update', id)
    expect(code).toBe(2)
    expect(stderr).toContain('name a field to change: --to, --events')
  })

  test('changes the mode, which the list shows', async () => {
    expect((await run('update', id, '--mode', 'live')).stdout).toMatch(/\tlive\n$/)
    expect((await run('list')).stdout).toMatch(/\tlive\n$/)
    expect((await run('update', id, '--mode', 'all')).stdout).toMatch(/\tall\n$/)
    const { code, stderr } = await run('update', id, '--mode', 'both')
    expect(code).toBe(2)
    expect(stderr).toContain('Allowed choices are all, live, test')
  })
})

test('test sends an event, deliveries shows it, and retry sends it again', async () => {
  const { delivery } = await svcJson<WireData<Webhooks['test']>>(
    ['webhooks', 'test', id],
    server.here,
  )
  expect(delivery).toMatchObject({ webhook_id: id, event: 'webhook.test', trigger: 'test' })
  await listen.until(/"event":"webhook\.test"[^\n]*"attempt":1/)
  await untilStored(delivery.id)
  const again = await run('retry', id, delivery.id)
  expect(again).toMatchObject({ code: 0, stderr: '' })
  expect(again.stdout).toContain(delivery.id)
  await listen.until(/"event":"webhook\.test"[^\n]*"attempt":2/)
})

test('replay finds the webhook of a delivery, and sends it again', async () => {
  const { delivery } = await svcJson<WireData<Webhooks['test']>>(
    ['webhooks', 'test', id],
    server.here,
  )
  await listen.until(new RegExp(`"delivery_id":"${delivery.id}","attempt":1`))
  await untilStored(delivery.id)
  const again = await run('replay', delivery.id)
  expect(again.code).toBe(0)
  expect(again.stdout).toMatch(new RegExp(`^${delivery.id}\\twebhook\\.test\\t`))
  await listen.until(new RegExp(`"delivery_id":"${delivery.id}","attempt":2`))
  const document = await svcJson(['webhooks', 'replay', delivery.id, '--webhook', id], server.here)
  expect(document).toMatchObject({ delivery: { id: delivery.id } })
  expect(await run('replay', '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01')).toMatchObject({
    code: 1,
    stderr: 'svc: Delivery not found\n',
  })
})

test('health shows the share of successes and the times of the answers', async () => {
  const { code, stdout } = await run('health', id, '--period', '7d')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^attempts\t\d+ in 7d\nsucceeded\t\d+ \(100\.0 %\)\np50\t\d+ ms\np99\t\d+ ms\nfirst failure since success\tno\ndisabled\tno\n$/,
  )
})

test('rotate-secret prints the new secret once', async () => {
  const { code, stdout, stderr } = await run('rotate-secret', id)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^whsec_\S{44}\n$/)
  expect(stderr).toMatch(/The old one is valid until \d{4}-/)
})

test('reports a missing webhook in one line', async () => {
  const unknown = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
  for (const command of ['enable', 'test', 'health', 'rotate-secret', 'deliveries']) {
    const { code, stderr } = await run(command, unknown)
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'svc: Webhook not found\n' })
  }
})
