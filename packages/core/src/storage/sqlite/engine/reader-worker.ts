import { parentPort, workerData } from 'node:worker_threads'
import { connect } from './connection.ts'
import { queryOver } from './query.ts'
import type { ReaderRequest, ReaderResponse } from './readers.ts'

/** Every commit of the writer empties a reader's cache, so a cache above 8 MiB has no benefit. */
const CACHE_KIB = 8_192

const { file } = workerData as { file: string }
const connection = connect(file, { readonly: true })
connection.pragma(`cache_size = -${CACHE_KIB}`)
const query = queryOver(connection)

parentPort?.on('message', ({ text, parameters, method }: ReaderRequest) => {
  query(text, parameters, method).then(
    ({ rows }) => send({ rows }),
    ({ message, code }) => send({ failure: { message, code } }),
  )
})

function send(response: ReaderResponse): void {
  parentPort?.postMessage(response)
}
