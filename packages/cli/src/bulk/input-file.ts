import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { openTable, TableFault, type TableRow } from '@svc/core/operate'
import { assertUnread, unreadable } from '../input/read-input.ts'
import { Failure, misconfigured, usage } from '../process/failure.ts'
import type { ProcessIo } from '../process/process-io.ts'
import type { Columns, Row } from './columns.ts'

const CHUNK_BYTES = 256 * 1024

/** The size limit of a pipe, which is copied to the disk because it is read more than once. */
const PIPE_MAX_BYTES = 4 * 1024 ** 3

/** The maximum number of rows that an error names when their length differs from the length of the header. */
const FAULTS_SHOWN = 5

/** A CSV file that was already read to its end once, so every row is readable. */
export interface InputFile {
  /** The name of the file; `stdin` for a pipe. */
  name: string
  sha256: string
  /** The number of rows below the header. */
  rows: number
  /** The number of rows whose phone number cannot be read, and the first of them; null without any. */
  faults: { count: number; first: string } | null
  /**
   * Returns the rows that start after a line, in order. The caller checks for changes with `assertUnchanged`.
   * @throws Failure for a row that cannot be read because the file has changed.
   */
  after(line: number): AsyncGenerator<Row>
  /** @throws Failure when the file has changed since it was opened. */
  assertUnchanged(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a CSV file (`-`: stdin) and reads it once. It reads row by row, so the file may have any size.
 * @throws Failure with the line of the fault.
 */
export async function openInputFile(
  path: string,
  io: ProcessIo,
  columnsFor: (header: TableRow, file: string) => Columns,
): Promise<InputFile> {
  const name = path === '-' ? 'stdin' : basename(path)
  const spool = path === '-' ? await spoolOf(io) : null
  const handle = await openRegularFile(spool?.path ?? resolve(io.cwd, path), path)
  // Remove the copy at once if the system allows it, so that no copy remains after a crash.
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
        `${name} was changed during the run: no more messages are sent`,
      )
    }
    const { columns, encoding, ...found } = await named(name, survey(handle, name, columnsFor))
    await assertUnchanged()
    return {
      name,
      ...found,
      after: (line) => rowsAfter(handle, { name, columns, encoding, line }),
      assertUnchanged,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function openRegularFile(absolute: string, path: string): Promise<FileHandle> {
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
  throw misconfigured(`cannot read ${path}: it is not a regular file; use - for a pipe`)
}

/** A text that changes when the contents of the file change. */
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
  columnsFor: (header: TableRow, file: string) => Columns,
): Promise<Pick<InputFile, 'sha256' | 'rows' | 'faults'> & { columns: Columns; encoding: string }> {
  const hash = createHash('sha256')
  for await (const chunk of chunksOf(handle)) hash.update(chunk)
  const table = await openTable(() => chunksOf(handle))
  let columns: Columns | null = null
  let rows = 0
  let faulty = 0
  const faults: string[] = []
  let unread: InputFile['faults'] = null
  for await (const row of table.rows) {
    if (!columns) {
      columns = columnsFor(row, name)
      continue
    }
    rows++
    if (row.cells.length === columns.count) {
      const { fault } = columns.rowOf(row)
      if (fault === null) continue
      unread ??= { count: 0, first: `line ${row.line}: ${fault}` }
      unread.count++
      continue
    }
    faulty++
    if (faults.length < FAULTS_SHOWN) faults.push(`line ${row.line} has ${row.cells.length}`)
  }
  if (!columns) throw usage(`${name} is empty: it needs a header row`)
  if (faulty > 0) {
    const more = faulty > faults.length ? `, and ${faulty - faults.length} more` : ''
    throw usage(`${name}: the header has ${columns.count} cells, but ${faults.join(', ')}${more}`)
  }
  if (rows === 0) throw usage(`${name} has a header row and no other`)
  const { encoding } = table
  return { columns, encoding, sha256: hash.digest('hex'), rows, faults: unread }
}

async function* rowsAfter(
  handle: FileHandle,
  {
    name,
    columns,
    encoding,
    line,
  }: { name: string; columns: Columns; encoding: string; line: number },
): AsyncGenerator<Row> {
  let isHeader = true
  const { rows } = await named(
    name,
    openTable(() => chunksOf(handle), encoding),
  )
  try {
    for await (const row of rows) {
      if (!isHeader && row.line > line) yield columns.rowOf(row)
      isHeader = false
    }
  } catch (error) {
    throw inFile(name, error)
  }
}

/** The result, or the failure with the name of the file. */
async function named<T>(name: string, result: Promise<T>): Promise<T> {
  return result.catch((error: unknown) => {
    throw inFile(name, error)
  })
}

function inFile(name: string, error: unknown): unknown {
  return error instanceof TableFault ? unreadable(name, error) : error
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position)
    if (bytesRead === 0) return
    const chunk = buffer.subarray(0, bytesRead)
    position += bytesRead
    yield chunk
  }
}
