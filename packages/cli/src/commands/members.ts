import type { Core } from '@svc/core'
import type { Member } from '@svc/core/contract'
import type { Command } from 'commander'
import { findWorkspace, operatorOf, withCore, withWorkspace } from '../connect/operator.ts'
import { type Context, withExamples } from '../context.ts'
import { confirm } from '../input/confirm.ts'
import { Failure } from '../process/failure.ts'
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
      `Lists, changes and removes the people who work in a workspace. It works on the database; the server may run meanwhile.
A member invites people in the API or the console.`,
    )
  withExamples(members, 'svc members list', 'svc members role asha@example.com viewer')

  const list = withWorkspace(
    members
      .command('list')
      .summary('list the members of a workspace')
      .description('Lists the members of a workspace with their roles, the owner first.'),
  ).action((options: WorkspaceOption) => listMembers(context, options))
  withExamples(list, 'svc members list --workspace ops@example.com')

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
}

async function listMembers({ io, output }: Context, options: WorkspaceOption): Promise<void> {
  const { api } = await import('@svc/core/contract')
  const members = await withCore(io, async (core) => {
    const workspace = await findWorkspace(core, options.workspace, io)
    return core.members.list(workspace.id)
  })
  if (output.isJson()) return output.document(api.members.list.data.encode({ members }))
  output.table(
    ['ID', 'E-MAIL', 'ROLE', 'NAME'],
    members.map(({ id, email, role, name }) => [id, email, role, name ?? '']),
  )
}

async function changeRole(
  { io, output }: Context,
  { name, role }: { name: string; role: string },
  options: WorkspaceOption,
): Promise<void> {
  const { api, decode } = await import('@svc/core/contract')
  // Decoded here too, so that a wrong role is reported before the database is opened.
  const request = decode(api.members.update.body, { role })
  const member = await withCore(io, async (core) => {
    const { id } = await findWorkspace(core, options.workspace, io)
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
  const { id, email } = await withCore(io, async (core) => {
    const workspace = await findWorkspace(core, options.workspace, io)
    const found = await findMember(core, workspace.id, name)
    await core.members.remove(workspace.id, found.id, operatorOf(io))
    return found
  })
  if (output.isJson()) return output.document({ id, message: 'Member removed' })
  output.line(`${email} is no member any more.`)
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
