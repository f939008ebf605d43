import { invalid } from '../contract/errors.ts'
import { LargeFile, largeFileOf } from '../contract/fields/large-file.ts'
import type { Content, EmailContent } from '../contract/resources/content.ts'
import { attachmentsText, BASE64_TEXT, bytesOf } from '../contract/resources/email-attachments.ts'
import type { MessageFileRow, MessageRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The length of a chunk's text except the last: base64 of 384 KiB. */
const CHUNK_LENGTH = 512 * 1024

/** A stored file of a message: its position among the attachments. */
export type FileUse = Pick<MessageFileRow, 'number' | 'sha256'>

type Attachment = NonNullable<EmailContent['attachments']>[number]

/** An attachment of a stored message. With `size_bytes` instead of `content`, its file is stored apart. */
type StoredAttachment = Omit<Attachment, 'content'> &
  ({ content: string; size_bytes?: undefined } | { content?: undefined; size_bytes: number })

/** The attachments of the content of a stored message. */
export function attachmentsOf(content: Content): readonly StoredAttachment[] {
  return (content as { attachments?: readonly StoredAttachment[] }).attachments ?? []
}

export function hasFiles(content: Content): boolean {
  return attachmentsOf(content).length > 0
}

/** The same content with other attachments. */
export function withAttachments(content: Content, attachments: readonly object[]): Content {
  return { ...content, attachments } as unknown as Content
}

/**
 * Reads the larger files of a request in turns of the event loop, before anything compares or stores the request: its
 * content has a LargeFile for each of them.
 * @throws SvcError `validation_error` for a file that is no base64, or for more than `bytes_max` decoded bytes.
 */
export async function readFiles(
  content: Content,
  bytes_max: number,
  place = 'content.attachments',
): Promise<Content> {
  const attachments = attachmentsOf(content) as readonly Attachment[]
  if (attachments.length === 0) return content
  const read: object[] = []
  let size_bytes = 0
  for (const [number, attachment] of attachments.entries()) {
    const file = asLarge(attachment.content)
    if (file && !(await file.read())) throw invalid(`${place}.${number}.content`, BASE64_TEXT)
    size_bytes += bytesOf(file ?? attachment.content)
    read.push(file ? { ...attachment, content: file } : attachment)
  }
  if (size_bytes > bytes_max) {
    throw invalid(place, `${attachmentsText(bytes_max)} (SVC_ATTACHMENTS_MAX_MB)`)
  }
  return withAttachments(content, read)
}

function asLarge(content: unknown): LargeFile | null {
  return content instanceof LargeFile ? content : largeFileOf(content)
}

interface Parts {
  storage: Storage
  runtime: Pick<Runtime, 'now'>
}

/**
 * Stores the larger files of a content that `readFiles` read, each once in the workspace. Returns the content of the row,
 * and its files. The files wait for a message for an hour: see `FileWrites`.
 */
export async function storeFiles(
  parts: Parts,
  workspaceId: string,
  content: Content,
): Promise<{ content: Content; files: FileUse[] }> {
  const attachments = attachmentsOf(content)
  const files: FileUse[] = []
  const stored: object[] = []
  for (const [number, attachment] of attachments.entries()) {
    const file: unknown = attachment.content
    if (!(file instanceof LargeFile)) {
      stored.push(attachment)
      continue
    }
    const { content: _, ...others } = attachment
    const { sha256, size_bytes } = file
    await storeFile(parts, workspaceId, file)
    stored.push({ ...others, size_bytes })
    files.push({ number, sha256 })
  }
  return { content: files.length > 0 ? withAttachments(content, stored) : content, files }
}

async function storeFile({ storage, runtime }: Parts, workspace_id: string, file: LargeFile) {
  const { sha256, size_bytes } = file
  const chunks = Math.ceil((4 * Math.ceil(size_bytes / 3)) / CHUNK_LENGTH)
  const row = { workspace_id, sha256, size_bytes, chunks }
  if (await storage.write(({ files }) => files.begin(row, runtime.now()))) return
  for (let number = 0; number < chunks; number++) {
    await storage.write(({ files }) =>
      files.addChunk(workspace_id, sha256, number, file.base64Part(number, CHUNK_LENGTH)),
    )
  }
  const isWhole = await storage.write(({ files }) => files.complete(workspace_id, sha256))
  if (!isWhole) throw new Error('a file was removed while it was stored')
}

/** The rows of `message_files` for new messages; undefined if none of them has a file. */
export function fileRows(
  messages: readonly Pick<MessageRow, 'workspace_id' | 'id'>[],
  filesOf: (index: number) => readonly FileUse[] | undefined,
): MessageFileRow[] | undefined {
  const rows = messages.flatMap(({ workspace_id, id: message_id }, i) =>
    (filesOf(i) ?? []).map((file) => ({ workspace_id, message_id, ...file })),
  )
  return rows.length > 0 ? rows : undefined
}

/**
 * Runs `accept`, which accepts messages with these stored files. If it does not, the files that no message has are removed
 * at once: a client without credits must not fill the disk.
 */
export async function acceptWithFiles<T>(
  { storage }: Pick<Parts, 'storage'>,
  workspaceId: string,
  files: readonly FileUse[],
  accept: () => Promise<T>,
  isUse: (result: T) => boolean,
): Promise<T> {
  if (files.length === 0) return accept()
  let isUsed = false
  try {
    const result = await accept()
    isUsed = isUse(result)
    return result
  } finally {
    const unused = files.map(({ sha256 }) => sha256)
    if (!isUsed) {
      await storage.write((stores) => stores.files.removeUnused(workspaceId, unused))
    }
  }
}

/** The content with its stored files, as the request had it. */
export async function withFiles(
  read: Pick<Storage['read'], 'files'>,
  { workspace_id, id, content }: Pick<MessageRow, 'workspace_id' | 'id' | 'content'>,
): Promise<Content> {
  const attachments = attachmentsOf(content)
  if (!attachments.some((one) => one.size_bytes !== undefined)) return content
  const texts = new Map<number, string>()
  for (const { number, sha256, chunks } of await read.files.ofMessages(workspace_id, [id])) {
    const parts: string[] = []
    for (let part = 0; part < chunks; part++) {
      parts.push((await read.files.chunk(workspace_id, sha256, part)) ?? '')
    }
    texts.set(number, parts.join(''))
  }
  const whole = attachments.map(({ size_bytes, ...one }, number) =>
    size_bytes === undefined ? one : { ...one, content: texts.get(number) ?? '' },
  )
  return withAttachments(content, whole)
}
