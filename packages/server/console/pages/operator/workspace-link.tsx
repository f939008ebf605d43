import { hrefOf } from '../../shell/router.ts'

/** The name of a workspace, or its id without one, as a link to its page for operators. */
export function WorkspaceLink({
  workspace_id: id,
  workspace_name: name,
}: {
  workspace_id: string
  workspace_name: string | null
}) {
  return <a href={hrefOf(`/operator/workspaces/${id}`)}>{name ?? id}</a>
}
