import { parentPort } from 'node:worker_threads'
import { readMail } from './read-mail.ts'

parentPort?.on('message', async (raw: Uint8Array) => {
  parentPort?.postMessage(await readMail(raw))
})
