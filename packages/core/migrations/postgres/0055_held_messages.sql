ALTER TABLE "message_queue" ADD COLUMN "held_by" text;--> statement-breakpoint
CREATE INDEX "message_queue_held" ON "message_queue" USING btree ("held_by","message_id") WHERE held_by is not null;