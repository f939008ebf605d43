import { setTimeout as pause } from 'node:timers/promises'
import { Svc } from '@svc/client'
import { startChild } from '../stage/child.ts'
import { startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { until } from '../stage/until.ts'
import { type BenchOptions, count, type Figure } from './figure.ts'
import { queueMessages } from './fill.ts'
import type { GatewayHandlers } from './paths.ts'

const LATENCIES_S = [0.2, 1, 2.5, 8]
const CONNECTIONS = [1, 10, 100]

/** The rounds of calls until the service knows the gateway, and at least this time. */
const LEARNING_ROUNDS = 7
const LEARNING_MIN_S = 4

/** The time in which answers are counted: at least these rounds and this time. */
const MEASURED_ROUNDS = 3
const MEASURED_MIN_S = 8

/** Messages beyond those of both times, so that the gateway is never without work. */
const SPARE_ROUNDS = 2

interface Case {
  latency_s: number
  connections: number
}

/**
 * A gateway that answers each message after a fixed time, with a limited number of connections: answers a second as a share
 * of connections ÷ latency, after the service has learned the gateway. Each message must end as sent, with one request.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const connections of CONNECTIONS) {
    const cases = (quick ? LATENCIES_S.slice(0, 2) : LATENCIES_S).map((latency_s) => ({
      latency_s,
      connections,
    }))
    // Together, because they wait nearly all the time.
    figures.push(
      ...(await onStage((stage) => Promise.all(cases.map((one) => measure(stage, one))))),
    )
  }
  return figures
}

async function measure(stage: Stage, { latency_s, connections }: Case): Promise<Figure> {
  const name = `${latency_s} s, ${connections} connections`
  const gateway = startChild<GatewayHandlers>(stage, 'bench/processes/gateway.mjs')
  const { url } = await gateway.request('start', { latency_ms: latency_s * 1_000 })
  const service = await startService(stage, name, {
    dispatch: true,
    env: { SVC_PROVIDERS: JSON.stringify([providerAt(url, connections)]) },
  })
  const client = new Svc({ baseUrl: service.url, apiKey: service.key })
  const learning_s = Math.max(LEARNING_MIN_S, LEARNING_ROUNDS * latency_s)
  const measured_s = Math.max(MEASURED_MIN_S, MEASURED_ROUNDS * latency_s)
  const per_s = connections / latency_s
  const messages = Math.ceil((learning_s + measured_s) * per_s) + SPARE_ROUNDS * connections
  await queueMessages(service, messages)
  await pause(learning_s * 1_000)
  const before = await gateway.request('taken', null)
  await pause(measured_s * 1_000)
  const after = await gateway.request('taken', null)
  const total = await untilEnded(client, messages)
  const { requests, different } = await gateway.request('taken', null)
  const doubtful = messages - total.sent
  if (doubtful > 0 || requests !== messages || different !== messages) {
    throw new Error(
      `slow-gateway, ${name}: of ${messages} messages, ${total.sent} are sent, ${total.failed} failed; the gateway got ${requests} requests for ${different} messages`,
    )
  }
  const answered_per_s = (after.answered - before.answered) / measured_s
  return {
    name: `slow-gateway, ${name}`,
    value: answered_per_s / per_s,
    unit: 'x',
    raw: `${count(answered_per_s)} of ${count(per_s)}/s; ${messages} messages, each with one request, none in doubt`,
  }
}

/** Waits until every message has ended. */
async function untilEnded(client: Svc, messages: number) {
  const totalOf = async (status: 'sent' | 'failed') =>
    (await client.messages.list({ limit: 1, status })).pagination.total
  const total = { sent: 0, failed: 0 }
  const haveEnded = async () => {
    Object.assign(total, { sent: await totalOf('sent'), failed: await totalOf('failed') })
    return total.sent + total.failed >= messages
  }
  await until(haveEnded, { every_ms: 500 })
  return total
}

function providerAt(url: string, connections: number) {
  return {
    name: 'gateway',
    type: 'http',
    channels: ['sms'],
    senders: { sms: ['+14155550190'] },
    connections,
    send: { url: `${url}/messages`, body: { to: '{{to}}', text: '{{text}}' } },
    answer: { id: '/id' },
  }
}
