import { once } from 'node:events'
import { Session } from 'node:inspector/promises'
import { performance } from 'node:perf_hooks'

// Plain JavaScript, like the measured code: it runs in node on the built packages, without a loader.

/** Answers the parent's requests, and ends with the parent. */
export function answer(handlers) {
  const all = { ...handlers, usage, startProfile, takeProfile }
  process.on('message', async ({ id, name, input }) => {
    try {
      process.send({ id, output: await all[name](input) })
    } catch (error) {
      process.send({ id, error: error.stack })
    }
  })
  process.on('disconnect', () => process.exit())
}

/** Lets a server listen on loopback; resolves with its port. */
export async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

function usage() {
  const { user, system } = process.cpuUsage()
  const { active } = performance.eventLoopUtilization()
  return { at_ms: performance.now(), cpu_ms: (user + system) / 1000, busy_ms: active }
}

let session

/** Begins a profile of the main thread. */
async function startProfile() {
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.start')
}

/** The profile since `startProfile`. */
async function takeProfile() {
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  return profile
}
