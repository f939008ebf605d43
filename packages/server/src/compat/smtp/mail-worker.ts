import { parentPort } from 'node:worker_threads'
import { memoryOf, readMail } from './read-mail.ts'

parentPort?.on('message', async (raw: Uint8Array) => {
  const reading = await readMail(raw)
  parentPort?.postMessage(reading, memoryOf(reading))
})
