/** The roles of members, with the most rights first. */
export const ROLES = ['owner', 'admin', 'developer', 'billing', 'viewer'] as const

/** The role of a member in a workspace. */
export type Role = (typeof ROLES)[number]

/** The roles that an invitation or a change can give. A workspace has one owner. */
export const ASSIGNED_ROLES = ['admin', 'developer', 'billing', 'viewer'] as const

/** A role that an invitation or a change can give. */
export type AssignedRole = (typeof ASSIGNED_ROLES)[number]

/**
 * What a session must be allowed to do. `belong`: every member may; `read`: messages, contacts, webhooks, keys and domains;
 * `send`: messages and contacts; `develop`: keys, webhooks and domains; `bill`: purchases and the account; `administer`:
 * members and the audit log; `own`: the change of the owner.
 */
export const CAPABILITIES = [
  'belong',
  'read',
  'send',
  'develop',
  'bill',
  'administer',
  'own',
] as const

/** What a session must be allowed to do. */
export type Capability = (typeof CAPABILITIES)[number]

const ROLE_CAPABILITIES: Readonly<Record<Role, readonly Capability[]>> = {
  owner: CAPABILITIES,
  admin: ['belong', 'read', 'send', 'develop', 'bill', 'administer'],
  developer: ['belong', 'read', 'send', 'develop'],
  billing: ['belong', 'bill'],
  viewer: ['belong', 'read'],
}

/** Whether a role includes a capability. An endpoint that names none is for the owner. */
export function mayDo(role: Role, capability: Capability = 'own'): boolean {
  return ROLE_CAPABILITIES[role].includes(capability)
}

/** The roles that include a capability. */
export function rolesThat(capability: Capability = 'own'): Role[] {
  return ROLES.filter((role) => mayDo(role, capability))
}
