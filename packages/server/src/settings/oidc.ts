import { ASSIGNED_ROLES, type AssignedRole, uuid } from '@svc/core/contract'
import { ConfigError, itemsOf, type Read, readSet, type Variable } from './variables.ts'

/** The OIDC provider with which members sign in. */
export interface OidcSettings {
  issuer: string
  client_id: string
  client_secret: string
  /** The roles that claims give; null if they give none. */
  roles: {
    workspace_id: string
    /** The claim: a text or a list of texts. */
    claim: string
    /** The role of each value of the claim. */
    by_value: ReadonlyMap<string, AssignedRole>
  } | null
}

const CLIENT: readonly Variable[] = [
  { name: 'SVC_OIDC_ISSUER', fault: issuerFault },
  { name: 'SVC_OIDC_CLIENT_ID', fault: () => null },
  { name: 'SVC_OIDC_CLIENT_SECRET', fault: () => null },
]

const ROLES: readonly Variable[] = [
  { name: 'SVC_OIDC_WORKSPACE', fault: workspaceFault },
  { name: 'SVC_OIDC_ROLES', fault: rolesFault },
]

const CLAIM = 'SVC_OIDC_ROLE_CLAIM'
const CLAIM_DEFAULT = 'groups'

/**
 * Reads the variables of OIDC; null if none is set.
 * @throws ConfigError for the first variable that is wrong, or that is missing while another is set.
 */
export function readOidc(read: Read): OidcSettings | null {
  const [issuer, client_id, client_secret] = readSet(CLIENT, read)
  const [workspace_id, values] = readSet(ROLES, read)
  if (issuer === undefined || client_id === undefined || client_secret === undefined) {
    if (workspace_id === undefined && read(CLAIM) === undefined) return null
    throw new ConfigError('SVC_OIDC_ISSUER must be set too: roles of OIDC alone are half a set')
  }
  const by_value = new Map(itemsOf(values ?? '').map((item) => roleOf(item) as Pair))
  const claim = read(CLAIM) ?? CLAIM_DEFAULT
  const roles = workspace_id === undefined ? null : { workspace_id, claim, by_value }
  return { issuer, client_id, client_secret, roles }
}

type Pair = [value: string, role: AssignedRole]

/** Reads `value=role`; the value may contain `=`. */
function roleOf(item: string): Pair | null {
  const at = item.lastIndexOf('=')
  const role = ASSIGNED_ROLES.find((each) => each === item.slice(at + 1))
  return at > 0 && role ? [item.slice(0, at), role] : null
}

function rolesFault(text: string): string | null {
  const wrong = itemsOf(text).find((item) => roleOf(item) === null)
  if (wrong === undefined && itemsOf(text).length > 0) return null
  return `must be a list of value=role with the roles ${ASSIGNED_ROLES.join(', ')}, for example svc-admins=admin`
}

function workspaceFault(text: string): string | null {
  return uuid.safeParse(text).success ? null : 'must be the id of a workspace: svc workspaces list'
}

function issuerFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(url?.hostname ?? '')
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)
  if (isSafe && !url?.search && !url?.hash && !url?.username) return null
  return 'must be the https URL of the issuer, or http on this machine: the client secret is sent there'
}
