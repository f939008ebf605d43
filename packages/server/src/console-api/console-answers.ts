// Imports nothing, because the scripts of the browser read these types too.

/** What the console must know before its first request. */
export interface ConsoleFacts {
  /** The name that the pages show. */
  brand: string
  /** Whether `svc dev` serves the console to a browser on its machine, which then has the tools too. */
  dev: boolean
  /** The channels with a provider. */
  carried: readonly string[]
  /** The maximum number of recipients of a bulk. */
  bulk_recipients_max: number
  /** The maximum of the files of one e-mail together, in MB. */
  attachments_max_mb: number
  /** The ways to sign in. `host`: the program that serves the console does it. */
  sign_in: readonly ('password' | 'oidc' | 'host')[]
  /** Whether workspaces add and remove their sending domains themselves. */
  self_service_domains: boolean
  /** Whether there are pages for operators. */
  operators: boolean
}

/** What a page can need; `belong`: every member. The capabilities of the contract's roles, and `operate` for operators. */
export type Need =
  | 'belong'
  | 'read'
  | 'send'
  | 'develop'
  | 'bill'
  | 'administer'
  | 'own'
  | 'operate'

/** The session of a browser. */
export interface ConsoleSession {
  /** null if there is no session; the other fields are empty then. */
  user: { id: string; email: string | null; name: string | null } | null
  /** The workspace that the requests of the session see by default. */
  workspace_id: string | null
  role: string | null
  /** The zone of the workspace; null for none, which stands for UTC. */
  time_zone: string | null
  /** What the role allows. */
  may: Exclude<Need, 'operate'>[]
  /** The workspaces of the user. */
  workspaces: { id: string; name: string; role: string }[]
  /** The name of the operator who is signed in in this browser; null for none. */
  operator: string | null
  /** Whether the person must add a second factor first. */
  lacks_second_factor: boolean
}

/** How a file or a text was read as a table. */
interface ReadTable {
  /** As `TextDecoder` names it. */
  encoding: string
  separator: string
}

/** What an import would make of a file. */
export interface ContactsPreview {
  file: ReadTable & { columns: { name: string; field: string; examples: string[] }[] }
  warnings: string[]
  /** The rows with their lines and contacts, in the order of the file. */
  rows: [line: number, cells: string[], contact: object][]
  created: number
  updated: number
  unchanged: number
  /** The rows that an import would reject; `index` is the position in `rows`. */
  errors: { index: number; path: string; message: string }[]
  /** Why the rest of the file cannot be read; null if all rows are here. */
  fault: string | null
}

/** A recipient of a bulk, without a part that its row does not have. */
export interface ReadRecipient {
  to?: string
  contact_id?: string
  name?: string
  variables?: Record<string, string>
}

/** The recipients in a text or in a file. */
export interface ReadRecipients {
  /** null for a list of addresses without a row of headings. */
  table: (ReadTable & { columns: { name: string; field: string }[] }) | null
  recipients: ReadRecipient[]
  /** The line of each recipient, from 1. */
  lines: number[]
  /** The number of rows without an address for the channel. */
  missing: number
  /** The numbers that cannot be read, and why; the service rejects them. */
  faults: { line: number; message: string }[]
}

/** What the providers of WhatsApp say about a template. */
export interface WhatsappApproval {
  /**
   * `refused`: it is rejected, paused or disabled; `missing`: no provider has it; `unchecked`: a provider lists no templates;
   * `unavailable`: no provider could be asked.
   */
  state: 'approved' | 'pending' | 'refused' | 'missing' | 'unchecked' | 'unavailable'
  /** The word of the provider for its state, and for the reason of a rejection. */
  status: string | null
  reason: string | null
  checked_at: string | null
}
