ALTER TABLE "delivery_queue" ADD COLUMN "set_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "message_queue" ADD COLUMN "set_at" timestamp (3) with time zone;