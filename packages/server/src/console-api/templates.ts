import { approvalQuery, endpoint, templateApproval } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import * as z from 'zod'
import type { Handlers } from '../routes/mount.ts'

/** What the editor of templates shows that the API does not have. */
export const templateEndpoints = {
  approval: endpoint({
    method: 'GET',
    auth: 'jwt',
    needs: 'read',
    rate: 'general',
    status: 200,
    path: '/api/templates/approval',
    query: approvalQuery.extend({ refresh: z.literal('true').optional() }),
    data: z.object({ approval: templateApproval }),
    summary: 'Show whether the providers of WhatsApp have approved a template',
  }),
} as const

/** The handlers of templates. */
export function templateHandlers({ templates }: DecodedCore): Handlers<typeof templateEndpoints> {
  return {
    async approval({ workspace_id, query: { refresh, ...template } }) {
      const query = { ...template, refresh: refresh !== undefined }
      return { approval: await templates.approval(workspace_id, query) }
    },
  }
}
