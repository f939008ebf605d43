import { performance } from 'node:perf_hooks'

// Plain JavaScript, as what is measured is: it runs in node on the built packages, with no loader in between.

/** Answers the parent's questions, and ends when the parent is gone. */
export function answer(handlers) {
  const all = { ...handlers, usage }
  process.on('message', async ({ id, name, input }) => {
    try {
      process.send({ id, output: await all[name](input) })
    } catch (error) {
      process.send({ id, error: error.stack })
    }
  })
  process.on('disconnect', () => process.exit())
}

function usage() {
  const { user, system } = process.cpuUsage()
  const { active } = performance.eventLoopUtilization()
  return { at_ms: performance.now(), cpu_ms: (user + system) / 1000, busy_ms: active }
}
