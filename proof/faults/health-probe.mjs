// Requests `/health` twice a second, in a separate thread, because the driver's thread is itself delayed in a flood.

import { get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

const PAUSE_MS = 500

const { url, max_ms } = workerData
let slowest_ms = 0
const faults = []
let isOver = false
parentPort.on('message', () => {
  isOver = true
})

/** Null after a 200 in time, otherwise the reason of the failure. */
function probe() {
  return new Promise((resolve) => {
    const request = get(`${url}/health`, { agent: false }, (response) => {
      response.resume().on('error', ({ message }) => resolve(message))
      response.on('end', () => resolve(response.statusCode === 200 ? null : response.statusCode))
    })
    request.on('error', ({ message }) => resolve(message))
    setTimeout(() => request.destroy(new Error('no answer in time')), max_ms).unref()
  })
}

while (!isOver) {
  const from = performance.now()
  const fault = await probe()
  const ms = performance.now() - from
  slowest_ms = Math.max(slowest_ms, ms)
  if (fault !== null) faults.push(`${fault} after ${Math.round(ms)} ms`)
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}
parentPort.postMessage({ slowest_ms, faults })
parentPort.close()
