import type { Core } from '@svc/core'
import type { Member } from '@svc/core/contract'
import type { Command } from 'commander'
import { onWorkspace, operatorOf, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { Failure } from '../process/failure.ts'
import { listing } from '../show/listing.ts'
import { printable } from '../show/text.ts'

interface WorkspaceOption {
  workspace?: string
}

const ONE = 'the e-mail address of the member, or the id'

/** Adds `svc members`: the people of a workspace, in the database. */
export function addMembers(program: Command, context: Context): void {
  const members = program
    .command('members')
    .summary('manage the members of workspaces (operator)')
    .description(
      `Invites, lists, changes and removes the people who work in a workspace. It works on the database; the server may run
meanwhile.`,
    )
  withExamples(members, 'svc members list', 'svc members role asha@example.com viewer')

  const list = withWorkspace(
    members
      .command('list')
      .summary('list the members of a workspace')
      .description('Lists the members of a workspace with their roles, the owner first.'),
  ).action((options: WorkspaceOption) => listMembers(context, options))
  withExamples(list, 'svc members list --workspace ops@example.com')

  const invite = withWorkspace(
    members
      .command('invite')
      .summary('invite a person to a workspace')
      .description(
        `Invites a person and prints the link, which the person opens to accept. No mail is sent: give the link to the person. It is
shown only once, and is valid for 7 days.`,
      )
      .argument('<email>', 'the e-mail address of the person')
      .argument('<role>', 'admin, developer, billing or viewer'),
  ).action((email: string, to: string, options: WorkspaceOption) =>
    invitePerson(context, { email, role: to }, options),
  )
  withExamples(invite, 'svc members invite asha@example.com developer')

  const invitations = withWorkspace(
    members
      .command('invitations')
      .summary('list the open invitations of a workspace')
      .description('Lists the invitations of a workspace that no person has accepted yet.'),
  ).action((options: WorkspaceOption) => listInvitations(context, options))
  withExamples(invitations, 'svc members invitations')

  const withdraw = withWorkspace(
    members
      .command('withdraw')
      .summary('withdraw an invitation')
      .description('Withdraws an invitation: its link is not valid any more.')
      .argument('<id>', 'the id of the invitation, as svc members invitations shows it'),
  ).action((id: string, options: WorkspaceOption) => withdrawInvitation(context, id, options))
  withExamples(withdraw, 'svc members withdraw 01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01')

  const role = withWorkspace(
    members
      .command('role')
      .summary('change the role of a member')
      .description('Changes the role of a member. It holds at once, also in sessions that exist.')
      .argument('<member>', ONE)
      .argument('<role>', 'admin, developer, billing or viewer'),
  ).action((name: string, to: string, options: WorkspaceOption) =>
    changeRole(context, { name, role: to }, options),
  )
  withExamples(role, 'svc members role asha@example.com viewer')

  const remove = withWorkspace(
    members
      .command('remove')
      .summary('remove a member')
      .description('Removes a member, after a confirmation. API keys stay valid.')
      .argument('<member>', ONE)
      .option('--yes', 'do not ask'),
  ).action((name: string, options: WorkspaceOption & { yes?: boolean }) =>
    removeMember(context, name, options),
  )
  withExamples(remove, 'svc members remove asha@example.com --yes')

  const end = withWorkspace(
    members
      .command('end-sessions')
      .summary('end the sessions of a member')
      .description(
        'Ends all sessions of a member, after a confirmation, also in other workspaces. API keys stay valid.',
      )
      .argument('<member>', ONE)
      .option('--yes', 'do not ask'),
  ).action((name: string, options: WorkspaceOption & { yes?: boolean }) =>
    endSessions(context, name, options),
  )
  withExamples(end, 'svc members end-sessions asha@example.com --yes')

  const reset = members
    .command('reset-second-factor')
    .summary('remove a second factor that was lost')
    .description(
      `Removes the authenticator app and the recovery codes of a login, after a confirmation, and ends its sessions. The password stays.
Make sure who asks for it.`,
    )
    .argument('<email>', 'the e-mail address of the login')
    .option('--yes', 'do not ask')
    .action((email: string, options: { yes?: boolean }) => resetFactor(context, email, options))
  withExamples(reset, 'svc members reset-second-factor asha@example.com')
}

async function listMembers({ io, output }: Context, options: WorkspaceOption): Promise<void> {
  const { api } = await import('@svc/core/contract')
  const members = await onWorkspace(io, options.workspace, (core, workspace) =>
    core.members.list(workspace.id),
  )
  listing(output, {
    json: () => api.members.list.data.encode({ members }),
    headings: ['ID', 'E-MAIL', 'ROLE', 'NAME'],
    rows: members.map(({ id, email, role, name }) => [id, email, role, name ?? '']),
  })
}

async function invitePerson(
  { io, output }: Context,
  given: { email: string; role: string },
  options: WorkspaceOption,
): Promise<void> {
  const { api, decode } = await import('@svc/core/contract')
  const request = decode(api.invitations.create.body, given)
  const { invitation, link } = await onWorkspace(io, options.workspace, async (core, { id }) => {
    const made = await core.members.invite(id, request, operatorOf(io))
    await core.mails.idle()
    return { invitation: made, link: core.mails.list()[0]?.link ?? '' }
  })
  if (output.isJson()) {
    const { invitation: shown } = api.invitations.create.data.encode({ invitation })
    return output.document({ invitation: shown, link })
  }
  output.line(output.style('bold', link))
  output.note(
    `${invitation.email} opens the link to become ${invitation.role}. It is shown only once, and is valid until ${invitation.expires_at.toISOString()}.`,
  )
}

async function listInvitations({ io, output }: Context, options: WorkspaceOption): Promise<void> {
  const { api } = await import('@svc/core/contract')
  const invitations = await onWorkspace(io, options.workspace, (core, { id }) =>
    core.members.invitations(id),
  )
  listing(output, {
    json: () => api.invitations.list.data.encode({ invitations }),
    headings: ['ID', 'E-MAIL', 'ROLE', 'VALID UNTIL'],
    rows: invitations.map(({ id, email, role, expires_at }) => [
      id,
      email,
      role,
      expires_at.toISOString(),
    ]),
    none: 'No open invitations.',
  })
}

async function withdrawInvitation(
  { io, output }: Context,
  id: string,
  options: WorkspaceOption,
): Promise<void> {
  await onWorkspace(io, options.workspace, async (core, workspace) => {
    await core.members.withdraw(workspace.id, id, operatorOf(io))
  })
  if (output.isJson()) return output.document({ id, message: 'Invitation withdrawn' })
  output.line(`The invitation ${printable(id)} is withdrawn.`)
}

async function changeRole(
  { io, output }: Context,
  { name, role }: { name: string; role: string },
  options: WorkspaceOption,
): Promise<void> {
  const { api, decode } = await import('@svc/core/contract')
  // Decoded here too, so that a wrong role is reported before the database is opened.
  const request = decode(api.members.update.body, { role })
  const member = await onWorkspace(io, options.workspace, async (core, { id }) => {
    const found = await findMember(core, id, name)
    return core.members.update(id, found.id, request, operatorOf(io))
  })
  if (output.isJson()) return output.document(api.members.update.data.encode({ member }))
  output.line(`${member.email} has the role ${member.role}.`)
}

async function removeMember(
  { io, output }: Context,
  name: string,
  options: WorkspaceOption & { yes?: boolean },
): Promise<void> {
  if (!options.yes) await confirm(io, `Remove the member ${printable(name)}?`)
  const { id, email } = await onWorkspace(io, options.workspace, async (core, workspace) => {
    const found = await findMember(core, workspace.id, name)
    await core.members.remove(workspace.id, found.id, operatorOf(io))
    return found
  })
  if (output.isJson()) return output.document({ id, message: 'Member removed' })
  output.line(`${email} is no member any more.`)
}

async function endSessions(
  { io, output }: Context,
  name: string,
  options: WorkspaceOption & { yes?: boolean },
): Promise<void> {
  if (!options.yes) await confirm(io, `End all sessions of ${printable(name)}?`)
  const { id, email } = await onWorkspace(io, options.workspace, async (core, workspace) => {
    const found = await findMember(core, workspace.id, name)
    await core.members.endSessionsOf(workspace.id, found.id, operatorOf(io))
    return found
  })
  if (output.isJson()) return output.document({ id, message: 'Sessions ended' })
  output.line(`All sessions of ${email} ended.`)
}

async function resetFactor(
  { io, output }: Context,
  email: string,
  { yes }: { yes?: boolean },
): Promise<void> {
  if (!yes) await confirm(io, `Remove the second factor of ${printable(email)}?`)
  await withCore(io, (core) => core.members.resetSecondFactor(email, operatorOf(io)))
  if (output.isJson()) return output.document({ email, message: 'Second factor removed' })
  output.line(`${printable(email)} signs in with the password only; the sessions ended.`)
}

/** @throws Failure when the workspace has no such member. */
async function findMember(core: Core, workspaceId: string, name: string): Promise<Member> {
  const { emailKey } = await import('@svc/core/contract')
  const members = await core.members.list(workspaceId)
  const found = members.find(({ id, email }) => id === name || emailKey(email) === emailKey(name))
  if (found) return found
  const text = `the workspace has no member ${printable(name)}: svc members list shows its members`
  throw new Failure('not_found', text)
}
