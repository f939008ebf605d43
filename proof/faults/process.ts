import { setTimeout as pause } from 'node:timers/promises'
import { type Connection, getBytes, openConnection } from '../stage/connection.ts'
import { until } from '../stage/until.ts'
import type { Scenario, Scene } from './scenario.ts'

const STOPPED_MS = { full: 40_000, short: 1_000 }
const STOPS = { full: 6, short: 1 }
const CALLERS = 12

/** A stopped process, and SIGTERM under load. */
export const PROCESS: readonly Scenario[] = [
  {
    name: 'stopped',
    title: 'the process is stopped (SIGSTOP)',
    async play({ service, short, receiver, violations, note }) {
      const { pid } = service()
      process.kill(pid, 'SIGSTOP')
      await pause(STOPPED_MS[short ? 'short' : 'full'])
      process.kill(pid, 'SIGCONT')
      const from = performance.now()
      const stuck = violations.rule('messages are sent and reported after a stop')
      const enough = receiver.finished() + 20
      const isEnough = () => receiver.finished() >= enough
      if (!(await until(isEnough, { max_ms: 60_000 }))) return stuck('not within 60 s')
      note(`messages continued ${Math.round(performance.now() - from)} ms after SIGCONT`)
    },
  },
  {
    name: 'term',
    title: 'SIGTERM arrives while clients use keep-alive connections',
    // A stopping service refuses new work with 429.
    fails: true,
    async play(scene) {
      const cut = scene.violations.rule('SIGTERM cuts off no request that was sent')
      let answered = 0
      for (let stop = 0; stop < STOPS[scene.short ? 'short' : 'full']; stop++) {
        // The system resets connections that the process has not accepted when it closes its socket.
        const connections = await Promise.all(
          Array.from({ length: CALLERS }, () => openAnswered(scene)),
        )
        const callers = connections.map((connection) => callUntilClosed(scene, connection))
        await pause(500)
        const restarted = scene.restart()
        for (const outcome of await Promise.all(callers)) {
          answered += outcome.answered
          if (outcome.fault) cut(outcome.fault)
        }
        await restarted
      }
      scene.note(`${answered} requests were answered on connections that SIGTERM closed`)
    },
  },
]

function requestOf({ service, accounts: [account] }: Scene): Buffer {
  return getBytes(service().url, '/api/v1/messages?limit=1', account?.keys.live ?? '')
}

/** A connection on which the service has answered. */
async function openAnswered(scene: Scene): Promise<Connection> {
  const connection = await openConnection(scene.service().url)
  await connection.request(requestOf(scene))
  return connection
}

/** Sends requests one after the other on a connection, until an answer closes it. */
async function callUntilClosed(scene: Scene, connection: Connection) {
  const bytes = requestOf(scene)
  let answered = 0
  try {
    for (;;) {
      const { head } = await connection.request(bytes)
      answered += 1
      if (/\r\nconnection: close/i.test(head)) return { answered, fault: null }
    }
  } catch (error) {
    return { answered, fault: `after ${answered} answers: ${(error as Error).message}` }
  } finally {
    connection.close()
  }
}
