import type { FileRow, MessageFileRow } from '../../rows/rows.ts'

/** The length of a chunk's text except the last: base64 of 384 KiB. */
export const CHUNK_LENGTH = 512 * 1024

/** A stored file of a message. */
export type FileOfMessage = Pick<MessageFileRow, 'message_id' | 'number' | 'sha256'> &
  Pick<FileRow, 'size_bytes' | 'chunks'>

export interface FileReads {
  /** The files of these messages, ordered by message and position. */
  ofMessages(workspaceId: string, messageIds: readonly string[]): Promise<FileOfMessage[]>
  /** The base64 of a part of a file; null if it is not stored. */
  chunk(workspaceId: string, sha256: string, number: number): Promise<string | null>
}

/**
 * A file is stored before the message that has it, in one transaction a chunk, so that other requests do not wait for it. A
 * file that no message uses is removed an hour later.
 */
export interface FileWrites {
  /** Returns whether the whole file is stored; begins it otherwise. It waits for its first message since `at`. */
  begin(
    file: Pick<FileRow, 'workspace_id' | 'sha256' | 'size_bytes' | 'chunks'>,
    at: Date,
  ): Promise<boolean>
  /** Stores a part, unless it is stored. */
  addChunk(workspaceId: string, sha256: string, number: number, content: string): Promise<void>
  /** Marks a file as whole. Returns false if a part is missing. */
  complete(workspaceId: string, sha256: string): Promise<boolean>
  /** Removes the files of messages, except those that other messages have. */
  removeOf(workspaceId: string, messageIds: readonly string[]): Promise<void>
  /** Removes those of these files that no message has. */
  removeUnused(workspaceId: string, sha256: readonly string[]): Promise<void>
  /** Removes files that wait for a message since a time before `before`; returns their number. */
  forgetUnused(before: Date, limit: number): Promise<number>
}
