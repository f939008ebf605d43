// Requests `/health` twice a second, in a separate thread, because the driver's thread is itself delayed in a flood.
// The time in which the service or this thread was ready, but other processes had the CPU, does not count.

import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

const PAUSE_MS = 500

/** The end of a probe on a machine that is busy with other work. */
const GIVE_UP_MS = 60_000

const { url, pid, max_ms } = workerData
const TASKS = [`/proc/${pid}/task/${pid}`, '/proc/thread-self']
let slowest_ms = 0
const faults = []
let isOver = false
parentPort.on('message', () => {
  isOver = true
})

/** How long the two threads waited for a CPU so far, in ms; 0 if this machine does not tell. */
function starved_ms() {
  return TASKS.reduce((sum, task) => {
    try {
      return sum + Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[1]) / 1e6
    } catch {
      return sum
    }
  }, 0)
}

/** Null after a 200 in time, otherwise the reason of the failure. */
function probe() {
  return new Promise((resolve) => {
    const request = get(`${url}/health`, { agent: false }, (response) => {
      response.resume().on('error', ({ message }) => resolve(message))
      response.on('end', () => resolve(response.statusCode === 200 ? null : response.statusCode))
    })
    request.on('error', ({ message }) => resolve(message))
    setTimeout(() => request.destroy(new Error('no answer')), GIVE_UP_MS).unref()
  })
}

while (!isOver) {
  const from = performance.now() - starved_ms()
  const fault = await probe()
  const ms = performance.now() - starved_ms() - from
  slowest_ms = Math.max(slowest_ms, ms)
  if (fault !== null || ms > max_ms) faults.push(`${fault ?? 'late'} after ${Math.round(ms)} ms`)
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}
parentPort.postMessage({ slowest_ms, faults })
parentPort.close()
