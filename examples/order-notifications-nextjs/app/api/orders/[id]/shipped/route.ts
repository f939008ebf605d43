import { SvcError } from '@svc/client'
import { orders } from '@/lib/orders'
import { svc } from '@/lib/svc'

/** Notifies the customer that the order is on its way. Repeated requests send one message. */
export async function POST(
  _request: Request,
  { params }: RouteContext<'/api/orders/[id]/shipped'>,
) {
  const order = orders.get((await params).id)
  if (!order) return Response.json({ error: 'unknown order' }, { status: 404 })
  try {
    const { message_id } = await svc.messages.send(
      {
        channel: 'sms',
        to: order.phone,
        content: { text: `Order ${order.id} is on its way.` },
        metadata: { order_id: order.id },
      },
      { idempotencyKey: `order-${order.id}-shipped` },
    )
    return Response.json({ message_id }, { status: 202 })
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    console.error(`order ${order.id}: ${error.code} (request ${error.requestId})`)
    return Response.json({ error: 'the notification was not sent' }, { status: 502 })
  }
}
