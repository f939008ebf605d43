import { openConnection, requestBytes } from '../../bench/connection.ts'
import { pause } from '../crash/stage.ts'
import type { Scenario, Scene } from './scenario.ts'

const STOPPED_MS = { full: 40_000, short: 1_000 }
const STOPS = { full: 6, short: 1 }
const CALLERS = 12

/** What happens when the process stands still, or is told to end under load. */
export const PROCESS: readonly Scenario[] = [
  {
    name: 'stopped',
    title: 'the process stands still (SIGSTOP)',
    async play({ service, short, receiver, violations, note }) {
      const { pid } = service()
      process.kill(pid, 'SIGSTOP')
      await pause(STOPPED_MS[short ? 'short' : 'full'])
      process.kill(pid, 'SIGCONT')
      const from = performance.now()
      const stuck = violations.rule('messages are sent and told of after a standstill')
      const enough = receiver.finished() + 20
      while (receiver.finished() < enough) {
        if (performance.now() - from > 60_000) return stuck('not within 60 s')
        await pause(10)
      }
      note(`messages went on ${Math.round(performance.now() - from)} ms after SIGCONT`)
    },
  },
  {
    name: 'term',
    title: 'SIGTERM comes while clients use keep-alive connections',
    // A service that is about to end refuses new work as too many requests.
    fails: true,
    async play(scene) {
      const cut = scene.violations.rule('SIGTERM cuts off no request that was sent')
      let answered = 0
      for (let stop = 0; stop < STOPS[scene.short ? 'short' : 'full']; stop++) {
        const callers = Array.from({ length: CALLERS }, () => callUntilClosed(scene))
        await pause(500)
        const restarted = scene.restart()
        for (const outcome of await Promise.all(callers)) {
          answered += outcome.answered
          if (outcome.fault) cut(outcome.fault)
        }
        await restarted
      }
      scene.note(`${answered} requests were answered on connections that SIGTERM ended`)
    },
  },
]

/** Sends one request after the other on one connection, until an answer says that it is closed. */
async function callUntilClosed({ service, accounts }: Scene) {
  const { url } = service()
  const [account] = accounts
  const connection = await openConnection(url)
  const bytes = requestBytes(url, {
    method: 'GET',
    path: '/api/v1/messages?limit=1',
    headers: { 'X-API-Key': account?.keys.live ?? '' },
  })
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
