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
  /** What the role allows. */
  may: Exclude<Need, 'operate'>[]
  /** The workspaces of the user. */
  workspaces: { id: string; name: string; role: string }[]
  /** The name of the operator who is signed in in this browser; null for none. */
  operator: string | null
  /** Whether the person must add a second factor first. */
  lacks_second_factor: boolean
}
