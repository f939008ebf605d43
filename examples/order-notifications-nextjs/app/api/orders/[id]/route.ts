import { orders } from '@/lib/orders'

/** Returns an order with the status of its notification. */
export async function GET(_request: Request, { params }: RouteContext<'/api/orders/[id]'>) {
  const order = orders.get((await params).id)
  if (!order) return Response.json({ error: 'unknown order' }, { status: 404 })
  return Response.json({ id: order.id, notification: order.notification?.status ?? 'none' })
}
