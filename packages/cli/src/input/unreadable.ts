import type { TableFault } from '@svc/core/operate'
import { type Failure, usage } from '../process/failure.ts'

/** The failure for a file that cannot be read as a table. */
export function unreadable(file: string, { message }: TableFault): Failure {
  return usage(message.startsWith('line ') ? `${file}, ${message}` : `${file}: ${message}`)
}
