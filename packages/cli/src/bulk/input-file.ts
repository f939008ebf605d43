import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { assertUnread } from '../input/read-input.ts'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import type { Columns, Row } from './columns.ts'
import { type CsvRow, readRows } from './read-rows.ts'

const CHUNK_BYTES = 256 * 1024

/** What a pipe may hold: it is copied to the disk, to be read more than once. */
const PIPE_MAX_BYTES = 4 * 1024 ** 3

/** How many rows of another length than the header's are named. */
const FAULTS_TOLD = 5

/** A CSV file that was looked through: what follows can rely on every row being readable. */
export interface InputFile {
  /** As it was given; `stdin` for a pipe. */
  name: string
  sha256: string
  /** How many rows there are below the header. */
  rows: number
  /**
   * The rows that begin after a line, in order.
   * @throws Failure when the file is no longer the one that was looked through; also between two rows.
   */
  after(line: number): AsyncGenerator<Row>
  /** @throws Failure when the file is no longer the one that was looked through. */
  assertUnchanged(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a CSV file (`-`: stdin) and reads it once, whatever its size, row by row.
 * @throws Failure naming the line of what cannot be read, or cannot be meant.
 */
export async function openInputFile(
  path: string,
  io: ProcessIo,
  columnsFor: (header: CsvRow, file: string) => Columns,
): Promise<InputFile> {
  const name = path === '-' ? 'stdin' : basename(path)
  const spool = path === '-' ? await spoolOf(io) : null
  const handle = await opened(spool?.path ?? resolve(io.cwd, path), path)
  // Where the system lets us, it is out of sight from now on, however this ends.
  await spool?.remove().catch(() => {})
  const close = async () => {
    await handle.close()
    await spool?.remove()
  }
  try {
    const before = await stampOf(handle)
    const assertUnchanged = async () => {
      if ((await stampOf(handle)) === before) return
      throw new Failure(
        'input_changed',
        `${name} was changed while it was read: nothing more is sent`,
      )
    }
    const { columns, ...found } = await survey(handle, name, columnsFor)
    await assertUnchanged()
    return {
      name,
      ...found,
      after: (line) => rowsAfter(handle, { name, columns, line }),
      assertUnchanged,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function opened(absolute: string, path: string): Promise<FileHandle> {
  try {
    const handle = await open(absolute, 'r')
    if ((await handle.stat()).isFile()) return handle
    await handle.close()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw misconfigured(
      `cannot read ${path}${code === 'ENOENT' ? ': there is no such file' : `: ${code}`}`,
    )
  }
  throw misconfigured(`cannot read ${path}: it is no file; for a pipe give -`)
}

/** Changes when the file's bytes do. */
async function stampOf(handle: FileHandle): Promise<string> {
  const { size, mtimeNs } = await handle.stat({ bigint: true })
  return `${size} ${mtimeNs}`
}

async function spoolOf({ stdin }: ProcessIo): Promise<{ path: string; remove(): Promise<void> }> {
  if (stdin.isTTY) throw usage('name a file, or pipe one in')
  assertUnread(stdin)
  const folder = await mkdtemp(join(tmpdir(), 'svc-bulk-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'input.csv')
  let bytes = 0
  try {
    await pipeline(
      stdin,
      async function* (chunks: AsyncIterable<Buffer | string>) {
        for await (const chunk of chunks) {
          bytes += chunk.length
          if (bytes > PIPE_MAX_BYTES) throw usage(`stdin has more than ${PIPE_MAX_BYTES} bytes`)
          yield chunk
        }
      },
      createWriteStream(path, { mode: 0o600 }),
    )
    return { path, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function survey(
  handle: FileHandle,
  name: string,
  columnsFor: (header: CsvRow, file: string) => Columns,
): Promise<{ columns: Columns; sha256: string; rows: number }> {
  const hash = createHash('sha256')
  let columns: Columns | null = null
  let rows = 0
  let faulty = 0
  const faults: string[] = []
  for await (const row of readRows(chunksOf(handle, hash), name)) {
    if (!columns) {
      columns = columnsFor(row, name)
      continue
    }
    rows++
    if (row.cells.length === columns.count) continue
    faulty++
    if (faults.length < FAULTS_TOLD) faults.push(`line ${row.line} has ${row.cells.length}`)
  }
  if (!columns) throw usage(`${name} is empty: it needs a header row`)
  if (faulty > 0) {
    const more = faulty > faults.length ? `, and ${faulty - faults.length} more` : ''
    throw usage(`${name}: the header has ${columns.count} cells, but ${faults.join(', ')}${more}`)
  }
  if (rows === 0) throw usage(`${name} has a header row and no other`)
  return { columns, sha256: hash.digest('hex'), rows }
}

async function* rowsAfter(
  handle: FileHandle,
  { name, columns, line }: { name: string; columns: Columns; line: number },
): AsyncGenerator<Row> {
  let isHeader = true
  for await (const row of readRows(chunksOf(handle), name)) {
    if (!isHeader && row.line > line) yield columns.rowOf(row)
    isHeader = false
  }
}

async function* chunksOf(
  handle: FileHandle,
  hash?: { update(bytes: Buffer): unknown },
): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position)
    if (bytesRead === 0) return
    const chunk = buffer.subarray(0, bytesRead)
    hash?.update(chunk)
    position += bytesRead
    yield chunk
  }
}
