ALTER TABLE "bulks" ADD COLUMN "name" text;--> statement-breakpoint
ALTER TABLE "bulks" ADD COLUMN "sender" text;--> statement-breakpoint
ALTER TABLE "bulks" ADD COLUMN "content" json;--> statement-breakpoint
CREATE INDEX "messages_error" ON "messages" USING btree ("workspace_id","error_code","id") WHERE error_code <> 'canceled';